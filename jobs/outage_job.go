package jobs

import (
	"cmp"
	"context"
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
	locked    bool      // the job is, or it is moving, see isPutOff
	since, at time.Time // when it failed first and last
	again     bool      // it has failed more than once
	named     bool      // the job is to blame, see culprit
	namedAt   time.Time // when that was found
	logged    bool      // the log has been told so
	told      time.Time // since when it has failed, as the log was told
	answered  time.Time // when the part has answered, whatever it said; zero: not since
	shaky     bool      // it has failed again after that
}

type jobPurpose struct {
	what        purpose
	job, oneOff string
}

const (
	// mostJobFailures are kept of one-off jobs for a part. Of more of them each failure is a first one. Those of jobs on a
	// schedule are all kept, which are as many as the program has: a failure of the part shows in them.
	mostJobFailures = 1000
	// mostLogged are how many failing one-off jobs the log is told of at a time.
	mostLogged = 10
	// fewJobs is of how many jobs those that it serves last are known, and how many it refuses when it has no job in mind.
	fewJobs = 3
	// soonServed is how soon a part that serves others is likely to be seen to do so again: jobs may be due each second.
	soonServed = 1500 * time.Millisecond
	// sameMoment is how far apart the answers may be for what was asked for at the same time.
	sameMoment = 500 * time.Millisecond
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
	say := o.forget(part, now)
	of, down := &o.jobs[part], &o.down[part][what]
	answered, done := of.learn(what, verdicts, now)
	var failure, locked error
	for _, v := range verdicts {
		at := jobPurpose{what, v.job, v.oneOff}
		if v.err == nil {
			continue
		}
		f := of.note(at, v.err, now)
		switch of.culprit(at, f, down, now) {
		case theJob:
			if !f.named {
				f.named, f.namedAt = true, now
			}
			if !f.logged && of.mayLog(at) {
				f.logged, f.told = true, f.since
				say = append(say, func() { o.failsFor(at, v.err) })
			}
		case theStore:
			failure = cmp.Or(failure, v.err)
		case somebodysLock:
			locked = cmp.Or(locked, v.err)
		}
	}
	if answered {
		down.locked = time.Time{}
	}
	since := now
	if failure != nil {
		since = of.clear(what)
	}
	over := done
	if down.err != nil {
		if over = failure == nil && of.served[what].latest().After(down.at) && !of.mayFollow(what, now); over {
			of.acquit(what)
		}
	}
	o.mu.Unlock()
	for _, say := range say {
		say()
	}
	switch {
	case over:
		o.heard(part, what, nil)
	case failure != nil:
		o.heardSince(part, what, failure, since)
	case locked != nil && !answered:
		o.heard(part, what, locked)
	}
	return failure != nil && !done
}

// wasUnlocked notes that a job was served after all that had seemed to be locked, here or elsewhere.
func (o *outage) wasUnlocked(part int, what purpose) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down[part][what].locked = time.Time{}
}

// partJobs are the failures of single jobs in a part, and whom it has served last.
type partJobs struct {
	failures map[jobPurpose]*jobFailure
	served   [purposes]serving
}

// serving is for whom a part has done something last, the latest first.
type serving []service

type service struct {
	job, oneOff string
	at          time.Time
}

func (s service) isOf(at jobPurpose) bool { return s.job == at.job && s.oneOff == at.oneOff }

func (s *serving) add(at jobPurpose, now time.Time) {
	all := *s
	if i := slices.IndexFunc(all, func(s service) bool { return s.isOf(at) }); i >= 0 {
		all[i].at = latest(all[i].at, now)
	} else {
		all = append(all, service{at.job, at.oneOff, now})
	}
	slices.SortStableFunc(all, func(a, b service) int { return b.at.Compare(a.at) })
	*s = all[:min(len(all), fewJobs)]
}

// latest is when somebody was served last.
func (s serving) latest() (at time.Time) {
	if len(s) > 0 {
		at = s[0].at
	}
	return at
}

// beside is when another job was served last.
func (s serving) beside(at jobPurpose) time.Time {
	for _, s := range s {
		if !s.isOf(at) {
			return s.at
		}
	}
	return time.Time{}
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
		if f.answered = now; v.done && !f.named && !f.logged { // the log is told of its end by forget
			delete(of.failures, at)
		}
	}
	return answered, done
}

// note keeps the failure of a job.
func (of *partJobs) note(at jobPurpose, err error, now time.Time) *jobFailure {
	f, locked := of.failures[at], isPutOff(err)
	// What the part has answered since, or what was locked, is no reason to blame the job.
	if f == nil || !f.named && (f.locked && !locked || !f.locked && !f.answered.IsZero()) {
		before := f
		f = &jobFailure{since: now}
		if before != nil { // the log is told of both as of one
			f.logged, f.told = before.logged, before.told
		}
		if of.failures == nil {
			of.failures = make(map[jobPurpose]*jobFailure)
		}
		if of.failures[at] != nil || at.oneOff == "" || of.oneOffs() < mostJobFailures {
			of.failures[at] = f
		}
	} else {
		f.again = true
	}
	f.shaky = f.shaky || !f.answered.IsZero()
	f.err, f.locked, f.at, f.answered = err, locked, now, time.Time{}
	return f
}

// oneOffs is how many failures of one-off jobs are kept, or more if all together are few.
func (of *partJobs) oneOffs() (n int) {
	if len(of.failures) < mostJobFailures {
		return len(of.failures)
	}
	for at := range of.failures {
		if at.oneOff != "" {
			n++
		}
	}
	return n
}

// isOver reports whether a failure is to be forgotten. What has been answered since has not failed for a while then: it may
// fail now and then.
func (f *jobFailure) isOver(now time.Time) bool {
	switch {
	case !f.answered.IsZero() && !f.shaky:
		return now.Sub(f.at) > staleOnce
	case f.answered.IsZero() && f.named:
		return now.Sub(f.at) > unasked
	}
	return now.Sub(f.at) > staleFailure
}

// isRefused reports whether a part has not said anything else since, and not that the job is locked.
func (f *jobFailure) isRefused() bool { return f.answered.IsZero() && !f.locked }

// forget removes failures that are over since a while, and returns what to tell the log of it. It needs mu.
func (o *outage) forget(part int, now time.Time) (say []func()) {
	for what := range o.down[part] {
		if f := &o.down[part][what]; f.isOld(purpose(what), now) {
			f.err, f.shaky = nil, false
		}
	}
	of := &o.jobs[part]
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

func (o *outage) failsFor(at jobPurpose, err error) {
	o.log.LogAttrs(context.Background(), slog.LevelError, o.store+" fails for this job while it does other work; trying again",
		append(at.attrs(), slog.Any("error", err))...)
}

func (o *outage) servesAgain(at jobPurpose, f *jobFailure, now time.Time) {
	o.log.LogAttrs(context.Background(), slog.LevelInfo, o.store+" does not fail for this job any more",
		append(at.attrs(), slog.Duration("after", f.at.Sub(f.told)))...)
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
