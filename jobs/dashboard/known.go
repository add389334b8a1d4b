package dashboard

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	// freshFor is the least time for which an answer of the store is used.
	freshFor = time.Second
	// mostKnown is how many answers are kept.
	mostKnown = 256
)

// known keeps what one store answered last to each question. All that look share it: however many tabs are open, the
// store is asked each question by one of them at a time, and for a fifth of the time at most. While the store does not
// answer, what it said last is there to be shown as such.
//
// A question without an answer raises a doubt. A small question decides it: with its answer it was the question, without
// it the store is silent.
type known struct {
	now   func() time.Time                // on the store's clock
	probe func(ctx context.Context) error // the small question
	fault func(error)                     // hears that the small question crashed; may be nil

	mu      sync.Mutex // guards all below
	answers map[string]*answer
	pulse   answer        // to the small question
	doubt   bool          // the last question had no answer
	silent  bool          // nor had the small question
	missed  instant       // when the first of the questions was asked that last went without one
	unheard time.Time     // when the last of them was given up
	heard   time.Time     // when a question had an answer
	took    time.Duration // how long the last small question took that had one, or any question before there was a small one
	back    instant       // when the last silence ended; zero: there was none, or nobody knows
	away    time.Duration // how long it was
}

// instant is a moment on the store's clock and on the local one. The store's may be set.
type instant struct{ at, local time.Time }

// leastSet is by how much a clock was set at least. The store's is known up to less than that.
const leastSet = time.Second

// onClock is an instant on the store's clock as that goes now.
func (k *known) onClock(i instant) time.Time {
	if i.at.IsZero() {
		return time.Time{}
	}
	set := k.now().Sub(i.at) - time.Since(i.local)
	if set.Abs() < leastSet {
		return i.at
	}
	return i.at.Add(set)
}

// answer is what is known about one question. Its fields are guarded by known.mu.
type answer struct {
	value   any
	no      error   // the store answered that there is no such thing
	asked   instant // when value or no was asked for; zero: there was no answer yet
	partial error   // what parts of the store did not answer; nil: all that were asked did
	failed  error   // why there is no newer answer; nil: there is none missing
	slow    bool    // failed: for want of time, so that the store may yet answer
	missed  instant // failed: when the first question was asked that had no answer
	misses  int     // failed: how many questions in a row had none

	// set by tell, on the store's clock
	asOf  time.Time // asked
	since time.Time // failed: from when on nothing is known
	back  time.Time // when the store answered again after a silence; zero: there was none lately
	away  time.Duration

	took   time.Duration // how long the last question took, or a guess if it had no answer
	until  time.Time     // ask again from then on
	rested time.Time     // by then the store has been asked for a fifth of the time only
	flight chan struct{} // closed when the one who asks has an answer; nil while nobody asks
	stale  bool          // what is in flight was asked for before something was changed
	used   time.Time
	putOff time.Time // since when no page had enough time to ask; zero: it was not put off
}

// get returns a copy of what is known about a question. It blocks until it has an answer, or ctx or the time of the page ends.
// fetch is called by one request at a time.
//
// An answer that has not failed was asked for at most freshFor ago, or was had at most four times as long ago as the store took
// for it. The same holds for the last sign that the store answers, with the small question. So with a store that takes two
// seconds, what is told as current is up to ten seconds old. A silence that no other question reveals is found out when the next
// small question has had no answer for storeTimeout.
func (k *known) get(ctx context.Context, question string, fetch func(context.Context) (any, error)) answer {
	ends := endOfPage(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	for {
		a, now := k.find(question), time.Now()
		a.used = now
		kept := now.Before(a.until)
		var err error
		switch {
		case kept && k.sure(a, now):
			return k.tell(a)
		case (kept || k.doubt) && k.mayProbe(now) && k.hasTime(&k.pulse, ends, k.probeLimit()):
			err = k.ask(ctx, ends, &k.pulse, k.probeLimit(), func(ctx context.Context) (any, error) { return nil, k.probe(ctx) })
		case (kept || k.silent) && errors.As(k.pulse.failed, new(*crash)):
			return k.late(a, errNoTime) // as without an answer
		case kept || k.silent:
			return k.late(a, k.pulse.failed)
		default:
			asks := a.flight == nil
			if err = k.ask(ctx, ends, a, storeTimeout, fetch); asks && err == nil && a.failed == nil {
				return k.tell(a)
			}
		}
		if err != nil {
			return k.late(a, err)
		}
	}
}

// sure reports whether what is known about a question may be told as it is.
func (k *known) sure(a *answer, now time.Time) bool {
	recent := now.Before(k.heard.Add(freshFor)) || k.pulse.failed == nil && now.Before(k.pulse.until)
	return !k.doubt && (a.failed != nil || recent)
}

// errNoTime is why a question was not asked.
var errNoTime = errors.New("no time is left to ask")

// late is what is known to one who could not wait for more.
func (k *known) late(a *answer, why error) answer {
	told := k.tell(a)
	if told.failed == nil {
		told.failed, told.slow = cmp.Or(why, errNoTime), true
	}
	return told
}

// tell returns a copy of what is known about a question. While the store is silent nothing is known from its last answer on.
func (k *known) tell(a *answer) answer {
	told := *a
	if time.Since(k.back.local) < backFor {
		told.back, told.away = k.onClock(k.back), k.away
	}
	told.asOf = k.onClock(a.asked)
	if k.silent {
		if told.slow = false; told.failed == nil {
			told.failed = k.pulse.failed
		}
	}
	switch {
	case !told.asOf.IsZero():
		told.since = told.asOf
	case a.missed != instant{}:
		told.since = k.onClock(a.missed)
	case k.doubt:
		told.since = k.onClock(k.missed)
	default:
		told.since = k.now()
	}
	return told
}

// goesBefore reports whether an answer is forgotten before another one. With an answer its rest is forgotten too, so those that
// rest stay.
func (a *answer) goesBefore(b *answer, now time.Time) bool {
	if rests := now.Before(a.rested); rests != now.Before(b.rested) {
		return !rests
	}
	return a.used.Before(b.used)
}

// find makes room by forgetting the answers that nobody has looked at for longest.
func (k *known) find(question string) *answer {
	if a := k.answers[question]; a != nil {
		return a
	}
	if k.answers == nil {
		k.answers = map[string]*answer{}
	}
	for now := time.Now(); len(k.answers) >= mostKnown; {
		worst := ""
		for q, a := range k.answers {
			if a.flight == nil && (worst == "" || a.goesBefore(k.answers[worst], now)) {
				worst = q
			}
		}
		if worst == "" {
			break // all are being asked, and a later call makes room
		}
		delete(k.answers, worst)
	}
	a := &answer{}
	k.answers[question] = a
	return a
}

// last returns what is known about a question, without asking.
func (k *known) last(question string) (a answer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.answers[question]; known != nil {
		a = k.tell(known)
	}
	return a
}

// forget lets the next pages ask again: something was changed.
func (k *known) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, a := range k.answers {
		a.until, a.stale = time.Time{}, true
	}
	k.pulse.until, k.pulse.rested = time.Time{}, time.Time{}
}

// forget lets the next pages ask both stores again.
func (d *dashboard) forget() {
	d.known.forget()
	d.held.forget()
}

// isPartial reports whether an error says that parts of the store are away: what comes with it is what the others say.
func isPartial(err error) bool { return errors.As(err, new(*jobs.PartsError)) }

// isAnswer reports whether an error is what a store says that answers.
func isAnswer(err error) bool {
	for _, no := range []error{jobs.ErrUnknownJob, jobs.ErrUnknownRun, lockrt.ErrNotHeld, lockrt.ErrKey, lockrt.ErrCursor,
		jobs.ErrSearch, errors.ErrUnsupported} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}
