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

// A jobFailure is of one job, or of one one-off job, in a part of the store that does for others what it is asked for: it has
// a record that cannot be read, or a key of another type. It must not make a part look as if it came and went.
type jobFailure struct {
	err       error
	since, at time.Time // when it failed first and last
	outlived  bool      // another job was served since it failed first: here, or elsewhere while this one was not
	alone     bool      // it has failed once more since then
	elsewhere bool      // it was served elsewhere: this node is not served
}

type jobPurpose struct {
	what        purpose
	job, oneOff string
}

// mostJobFailures are kept for a part. Of more of them each failure is a first one.
const mostJobFailures = 1000

// soonServed is how soon a part that has served others a short while ago is likely to serve another one again.
const soonServed = 2 * time.Second

// mostLoneOneOffs is for how many one-off jobs claims may fail, and for no other one is done, before that is more than
// their own failure while the part takes claims of ticks.
const mostLoneOneOffs = 3

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
	var failure, locked error
	now, answered, done := time.Now(), false, false
	var say []func()
	var others time.Time
	for _, v := range verdicts {
		answered, done, others = answered || v.err == nil, done || v.done, latest(others, v.others)
	}
	o.mu.Lock()
	of := &o.jobs[part]
	forget := func(at jobPurpose, f *jobFailure) {
		if delete(of.failures, at); f != nil && f.alone {
			say = append(say, func() { o.servesAgain(at, f, now) })
		}
	}
	if done {
		of.served[what] = now
	}
	of.served[what] = latest(of.served[what], others)
	fewOneOffs := what == claimingOneOffs && now.Sub(of.served[claiming]) < staleOnce && of.count(what) < mostLoneOneOffs
	for _, v := range verdicts {
		at := jobPurpose{what, v.job, v.oneOff}
		f := of.failures[at]
		switch {
		case v.err == nil:
			forget(at, f)
		case isMoving(v.err):
		case f == nil || f.isLocked() && !errors.Is(v.err, ErrLocked):
			if of.note(at, v.err, now); errors.Is(v.err, ErrLocked) {
				locked = cmp.Or(locked, v.err)
			} else if now.Sub(of.served[what]) > staleOnce && !fewOneOffs { // else the second failure tells
				failure = cmp.Or(failure, v.err)
			}
		default:
			f.outlived = f.outlived || fewOneOffs
			switch f.err, f.at = v.err, now; {
			case !f.outlived && f.isLocked():
				locked = cmp.Or(locked, v.err)
			case !f.outlived && (now.Sub(f.since) > soonServed || now.Sub(of.served[what]) > staleOnce):
				failure = cmp.Or(failure, v.err)
			case !f.outlived:
			case !f.alone && !f.isLocked():
				f.alone = true
				say = append(say, func() { o.failsFor(at, v.err) })
			}
		}
	}
	for at, f := range of.failures {
		if now.Sub(f.at) > staleFailure {
			forget(at, f)
		} else if at.what == what && (done || others.After(f.since) && !f.elsewhere) {
			f.outlived = true
		}
	}
	if answered {
		o.down[part][what].locked = time.Time{}
	}
	over := done || failure == nil && o.down[part][what].err != nil && others.After(o.down[part][what].at)
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

// movedOn notes that a job was served after all for which a part had seemed not to do something, elsewhere or here. What is
// served elsewhere is no failure of the job, but of this node's.
func (o *outage) movedOn(part int, what purpose, job string, elsewhere bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down[part][what].locked = time.Time{}
	if f := o.jobs[part].failures[jobPurpose{what: what, job: job}]; f != nil && elsewhere {
		f.elsewhere, f.outlived, f.alone = true, false, false
	}
}

// partJobs are the failures of single jobs in a part, and when it has served any of them last.
type partJobs struct {
	failures map[jobPurpose]*jobFailure
	served   [purposes]time.Time
}

// note keeps the first failure of a job.
func (of *partJobs) note(at jobPurpose, err error, now time.Time) {
	if of.failures == nil {
		of.failures = make(map[jobPurpose]*jobFailure)
	}
	if len(of.failures) < mostJobFailures {
		of.failures[at] = &jobFailure{err: err, since: now, at: now}
	}
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

func (f *jobFailure) isLocked() bool { return errors.Is(f.err, ErrLocked) }

func (o *outage) failsFor(at jobPurpose, err error) {
	o.log.LogAttrs(context.Background(), slog.LevelError, o.store+" fails for this job and not for others; trying again",
		append(at.attrs(), slog.Any("error", err))...)
}

func (o *outage) servesAgain(at jobPurpose, f *jobFailure, now time.Time) {
	o.log.LogAttrs(context.Background(), slog.LevelInfo, o.store+" does not fail for this job any more",
		append(at.attrs(), slog.Duration("after", now.Sub(f.since)))...)
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
			if !f.alone || now.Sub(f.at) > staleFailure {
				continue
			}
			if n++; first == nil {
				first = fmt.Errorf("%s fails for the %s since %s, and not for others: %w",
					o.store, at, f.since.UTC().Format(time.RFC3339), f.err)
			}
		}
	}
	if n > 1 {
		return fmt.Errorf("%w (and %d more such failures)", first, n-1)
	}
	return first
}
