package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"
)

// Which of the two is to blame, a job or the store, only shows where others are asked for, too. A part of the store that does
// for others what it is asked for has no failure of its own: the job has a record that cannot be read, or a key of another
// type. It must not make a part look as if it came and went.

// A jobFailure is of one job, or of one one-off job, in one thing that a part of the store is asked for.
type jobFailure struct {
	err       error
	since, at time.Time // when it failed first and last
	again     bool      // it has failed more than once
	named     bool      // the job is to blame: it has failed again, and others were served in between
	logged    bool      // the log has been told so
	answered  time.Time // when the part has answered, whatever it said; zero: not since
}

type jobPurpose struct {
	what        purpose
	job, oneOff string
}

const (
	// mostJobFailures are kept for a part. Of more of them each failure is a first one.
	mostJobFailures = 1000
	// mostLogged are how many failing one-off jobs the log is told of at a time.
	mostLogged = 10
	// fewJobs is for how many jobs starts, ends, or claims of one-off jobs may fail, with none of the kind done, and the part
	// not be to blame as long as it takes claims. Those of ticks are asked for so often that they show best what it does.
	fewJobs = 3
	// soonServed is how soon a part that has served others a short while ago is likely to serve another one again.
	soonServed = 2 * time.Second
)

// A verdict is what a part has said about one job.
type verdict struct {
	job, oneOff string
	err         error
	done        bool      // it has done what it was asked for, and not only said why not
	others      time.Time // when it has done the same for another node, or later
}

// heardEach notes what a part has said about each job of a call. It reports whether the part is away: it has served nobody,
// and that is not only for jobs that it does not serve while it serves others.
func (o *outage) heardEach(part int, what purpose, verdicts []verdict) (away bool) {
	now := time.Now()
	o.mu.Lock()
	of := &o.jobs[part]
	answered, done := of.learn(what, verdicts, now)
	var failure, locked error
	var say []func()
	var witness time.Time // that the part does its work
	for _, v := range verdicts {
		at := jobPurpose{what, v.job, v.oneOff}
		served, patience := of.servedBeside(at)
		witness = latest(witness, served)
		if v.err == nil || isMoving(v.err) {
			continue
		}
		f := of.note(at, v.err, now)
		switch f.culprit(served, now, patience) {
		case theJob:
			if f.named = true; !f.logged && of.mayLog(at) {
				f.logged = true
				say = append(say, func() { o.failsFor(at, v.err) })
			}
		case theStore:
			failure = cmp.Or(failure, v.err)
		case somebodysLock:
			locked = cmp.Or(locked, v.err)
		}
	}
	say = append(say, o.forget(of, now)...)
	if answered {
		o.down[part][what].locked = time.Time{}
	}
	over := done || failure == nil && o.down[part][what].err != nil && witness.After(o.down[part][what].at)
	o.mu.Unlock()
	for _, say := range say {
		say()
	}
	switch {
	case over:
		o.heard(part, what, nil)
	case failure != nil:
		o.heard(part, what, failure)
	case locked != nil && !answered:
		o.heard(part, what, locked)
	}
	return failure != nil && !done
}

// culprit is who is to blame for a failure.
type culprit int

const (
	nobody culprit = iota // the next failure will show
	theJob
	theStore
	somebodysLock
)

// culprit tells who is to blame when a job has failed just now. served is when others were served last, and patience for how
// long others may not be asked for that could be served. Once a job is named it stays so: that it still fails says nothing of
// the store.
func (f *jobFailure) culprit(served, now time.Time, patience time.Duration) culprit {
	beside := !served.Before(f.since)
	switch {
	case f.named || beside && f.again && !f.isLocked():
		return theJob
	case beside:
		return nobody
	case f.isLocked():
		return somebodysLock
	case now.Sub(served) > staleOnce || f.again && now.Sub(f.since) > patience:
		return theStore
	}
	return nobody
}

// wasUnlocked notes that a job was served after all that had seemed to be locked, here or elsewhere.
func (o *outage) wasUnlocked(part int, what purpose) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down[part][what].locked = time.Time{}
}

// partJobs are the failures of single jobs in a part, and when it has served any of them last.
type partJobs struct {
	failures map[jobPurpose]*jobFailure
	served   [purposes]serving
}

// serving is when a part has done something last, and for whom.
type serving struct {
	last   jobPurpose
	at     time.Time
	before time.Time // for another one than the last
}

func (s *serving) add(at jobPurpose, now time.Time) {
	if s.last != at {
		s.last, s.before = at, s.at
	}
	s.at = latest(s.at, now)
}

// beside is when another job was served last.
func (s *serving) beside(job, oneOff string) time.Time {
	if s.last.job == job && s.last.oneOff == oneOff {
		return s.before
	}
	return s.at
}

// learn notes whom a part has served, and which of those that failed have been answered. What it has done for other nodes
// counts unless it fails for the job here: then it is this node that is not served.
func (of *partJobs) learn(what purpose, verdicts []verdict, now time.Time) (answered, done bool) {
	for _, v := range verdicts {
		at := jobPurpose{what, v.job, v.oneOff}
		f := of.failures[at]
		switch {
		case v.err != nil:
			continue
		case v.done:
			of.served[what].add(at, now)
		case !v.others.IsZero() && f == nil:
			of.served[what].add(at, v.others)
		}
		if answered, done = true, done || v.done; f == nil {
			continue
		}
		if f.answered = now; v.done && !f.named {
			delete(of.failures, at)
		}
	}
	return answered, done
}

// servedBeside is when a part has served others than one job last, and how soon it is likely to do so again.
func (of *partJobs) servedBeside(at jobPurpose) (served time.Time, patience time.Duration) {
	served = of.served[at.what].beside(at.job, at.oneOff)
	if what := at.what; (what == starting || what == recording || what == claimingOneOffs) && of.count(what) < fewJobs {
		return latest(served, of.served[claiming].beside(at.job, at.oneOff)), staleOnce
	}
	return served, soonServed
}

// note keeps the failure of a job.
func (of *partJobs) note(at jobPurpose, err error, now time.Time) *jobFailure {
	f := of.failures[at]
	if f == nil || f.isLocked() && !errors.Is(err, ErrLocked) {
		f = &jobFailure{since: now}
		if of.failures == nil {
			of.failures = make(map[jobPurpose]*jobFailure)
		}
		if len(of.failures) < mostJobFailures || of.failures[at] != nil {
			of.failures[at] = f
		}
	} else {
		f.again = true
	}
	f.err, f.at, f.answered = err, now, time.Time{}
	return f
}

// isOver reports whether a failure is to be forgotten. What has been answered since has not failed for a while then: it may
// fail now and then.
func (f *jobFailure) isOver(now time.Time) bool {
	if f.answered.IsZero() {
		return now.Sub(f.at) > staleFailure
	}
	return now.Sub(f.at) > staleOnce
}

// forget removes what is over, and returns what to tell the log of it. It needs mu.
func (o *outage) forget(of *partJobs, now time.Time) (say []func()) {
	for at, f := range of.failures {
		if !f.isOver(now) {
			continue
		}
		if delete(of.failures, at); f.logged {
			say = append(say, func() { o.servesAgain(at, f, now) })
		}
	}
	return say
}

// count returns for how many a part fails to do something.
func (of *partJobs) count(what purpose) (n int) {
	for at := range of.failures {
		if at.what == what {
			n++
		}
	}
	return n
}

// mayLog reports whether the log is to be told of a failing job. Those on a schedule are as many as the program has.
func (of *partJobs) mayLog(at jobPurpose) bool {
	n := 0
	for other, f := range of.failures {
		if f.logged && other.oneOff != "" {
			n++
		}
	}
	return at.oneOff == "" || n < mostLogged
}

func (f *jobFailure) isLocked() bool { return errors.Is(f.err, ErrLocked) }

func (o *outage) failsFor(at jobPurpose, err error) {
	o.log.LogAttrs(context.Background(), slog.LevelError, o.store+" fails for this job while it does other work; trying again",
		append(at.attrs(), slog.Any("error", err))...)
}

func (o *outage) servesAgain(at jobPurpose, f *jobFailure, now time.Time) {
	o.log.LogAttrs(context.Background(), slog.LevelInfo, o.store+" does not fail for this job any more",
		append(at.attrs(), slog.Duration("after", f.at.Sub(f.since)))...)
}

func (at jobPurpose) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("job", at.job), slog.String("asked", at.what.String())}
	if at.oneOff != "" {
		attrs = append(attrs, slog.String("one_off", at.oneOff))
	}
	return attrs
}

func (at jobPurpose) String() string {
	if at.oneOff != "" {
		return fmt.Sprintf("%s of one-off job %q for %q", at.what, at.oneOff, at.job)
	}
	return fmt.Sprintf("%s of job %q", at.what, at.job)
}

// errOfJobs is what Scheduler.Err says of single jobs. It needs mu.
func (o *outage) errOfJobs() error {
	now := time.Now()
	var first error
	n := 0
	for _, of := range o.jobs {
		for _, at := range slices.SortedFunc(maps.Keys(of.failures), func(a, b jobPurpose) int {
			return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.oneOff, b.oneOff), cmp.Compare(a.what, b.what))
		}) {
			f := of.failures[at]
			if !f.named || f.isOver(now) {
				continue
			}
			if n++; first == nil {
				first = fmt.Errorf("%s fails for the %s since %s, while it does other work: %w",
					o.store, at, f.since.UTC().Format(time.RFC3339), f.err)
			}
		}
	}
	if n > 1 {
		return fmt.Errorf("%w (and %d more such failures)", first, n-1)
	}
	return first
}
