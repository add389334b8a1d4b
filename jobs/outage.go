package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// outage is what does not answer of the store of jobs, or of that of locks.
type outage struct {
	log   *slog.Logger
	store string // what it is called

	mu    sync.Mutex          // guards what follows; nothing else is locked while it is held
	down  [][purposes]failure // why a part could not be asked last, by part and by what it was asked for
	away  bool                // the log has been told that a part is down
	since time.Time           // since when
	last  time.Time           // when one has failed last
	jobs  []partJobs
}

func newOutage(log *slog.Logger, store string, parts int) *outage {
	return &outage{log: log, store: store, down: make([][purposes]failure, parts), jobs: make([]partJobs, parts)}
}

// purpose is what a part of the store is asked for. A store may do one and not the other: a full disk takes no new rows, or
// somebody has locked a table. What works says nothing of what does not.
type purpose int

const (
	reading   purpose = iota
	comparing         // epochs
	starting
	beating
	offering
	claiming
	claimingOneOffs
	recording
	locking // the store of locks is asked for nothing else
	purposes
)

// String names what a part is asked for.
func (what purpose) String() string {
	return [purposes]string{
		reading: "reads", comparing: "epochs", starting: "starts", beating: "signs of life", offering: "registrations",
		claiming: "claims", claimingOneOffs: "claims", recording: "ends", locking: "locks",
	}[what]
}

// isOfJobs reports whether something is asked for single jobs, and when they are due.
func (what purpose) isOfJobs() bool { return what >= starting && what != beating && what != offering }

const (
	// staleFailure is after how long a failure is forgotten that has come twice and not again, while the part takes other
	// writes: what has failed may not be tried any more. It is longer than a call and the pause before the next try take.
	staleFailure = 30 * time.Second
	// staleOnce is the same for a failure that has come once. It is longer than most pauses before the next try, so that a
	// store does not seem to come back in between.
	staleOnce = 2 * maxBackoff
	// unasked is after how long a failure is forgotten of what is asked for jobs, of which only the like says that it is over.
	// Many jobs are due each minute.
	unasked = 90 * time.Second
	// longLocked is for how long all of a kind may be locked by transactions of others, or moving, before that is a failure.
	longLocked = 10 * time.Second
)

// failure is why a part could not be asked for one thing.
type failure struct {
	err    error     // nil: it answers, as far as is known
	at     time.Time // when it failed last; zero: it has not, or it has worked since
	again  bool      // it had failed a short while before that
	worked time.Time // when it worked again last
	shaky  bool      // it has failed a short while after that: one success is not enough
	locked time.Time // since when all of it is locked, or moving; zero: it is not
	still  time.Time // when it was the last time
}

// hear takes in what came of one try.
func (f *failure) hear(err error, now time.Time) {
	switch {
	case err == nil && f.shaky && now.Sub(f.at) < staleOnce:
		f.again, f.locked = false, time.Time{}
		return
	case err == nil && f.err != nil:
		*f = failure{worked: now}
		return
	case err == nil:
		*f = failure{worked: f.worked}
		return
	case !isPutOff(err):
		f.locked = time.Time{}
	case f.locked.IsZero() || now.Sub(f.still) > longLocked: // nobody has asked in between
		f.locked, f.still = now, now
		return
	default:
		if f.still = now; now.Sub(f.locked) < longLocked {
			return
		}
	}
	f.shaky = f.shaky || f.err == nil && now.Sub(f.worked) < staleOnce
	f.err, f.at, f.again = err, now, !f.at.IsZero() && now.Sub(f.at) < staleFailure
}

// isPutOff reports whether a part answers and will know better later.
func isPutOff(err error) bool { return errors.Is(err, ErrLocked) || isMoving(err) }

// isOver reports whether other writes that are taken speak against a failure.
func (f *failure) isOver(now time.Time) bool {
	if f.again {
		return now.Sub(f.at) > staleFailure
	}
	return now.Sub(f.at) > staleOnce
}

// isOld reports whether nobody has asked for a long time whether a failure lasts.
func (f *failure) isOld(what purpose, now time.Time) bool {
	return what.isOfJobs() && now.Sub(f.at) > unasked
}

// parts returns how many parts did not answer last, and what one of them said. It needs mu.
func (o *outage) parts(now time.Time) (n int, err error) {
	for part := range o.down {
		for what, f := range o.down[part] {
			if f.err != nil && !f.isOld(purpose(what), now) {
				n, err = n+1, f.err
				break
			}
		}
	}
	return n, err
}

// err is what Scheduler.Err says of the store.
func (o *outage) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.parts(time.Now())
	switch since := o.since.UTC().Format(time.RFC3339); {
	case n > 0 && n == len(o.down):
		return fmt.Errorf("%s unavailable since %s: %w", o.store, since, err)
	case n > 0:
		return fmt.Errorf("%d of %d parts of the %s unavailable since %s, the jobs in the others run: %w",
			n, len(o.down), o.store, since, err)
	}
	return o.errOfJobs()
}

// heard notes whether a part has done what it was asked for. The log hears of the first part that does not, and of when
// all do again.
func (o *outage) heard(part int, what purpose, err error) { o.heardSince(part, what, err, time.Now()) }

// heardSince is heard of a failure that has begun before.
func (o *outage) heardSince(part int, what purpose, err error, began time.Time) {
	now := time.Now()
	o.mu.Lock()
	say := o.forget(part, now)
	n, _ := o.parts(now)
	over := o.away && n == 0 // since a while, as Err says
	before, lasted := n > 0, o.last.Sub(o.since)
	down := &o.down[part]
	down[what].hear(err, now)
	if err == nil && what != reading && what != comparing {
		for i := range down {
			// The next sign of life is never far.
			if f, i := &down[i], purpose(i); i != beating && !i.isOfJobs() && f.isOver(now) {
				f.err, f.shaky = nil, false
			}
		}
	}
	n, _ = o.parts(now)
	if before && n == 0 {
		over, lasted = true, now.Sub(o.since)
	}
	if o.away = n > 0; o.away && !before {
		o.since = began
	}
	if o.away && err != nil {
		o.last = now
	}
	o.mu.Unlock()
	for _, say := range say {
		say()
	}
	if over {
		o.log.LogAttrs(context.Background(), slog.LevelInfo, o.store+" available again",
			slog.Duration("after", lasted))
	}
	switch {
	case n > 0 && !before && len(o.down) == 1:
		o.log.LogAttrs(context.Background(), slog.LevelError, o.store+" unavailable; trying again",
			slog.String("asked", what.String()), slog.Any("error", err))
	case n > 0 && !before:
		o.log.LogAttrs(context.Background(), slog.LevelError, "part of the "+o.store+" unavailable; trying again",
			slog.Int("part", part), slog.String("asked", what.String()), slog.Any("error", err))
	}
}
