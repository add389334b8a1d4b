package jobs

import (
	"maps"
	"slices"
	"time"
)

// culprit is who is to blame for a failure.
type culprit int

const (
	nobody culprit = iota // the next failure will show
	theJob
	theStore
	somebodysLock
)

// culprit tells who is to blame when a part has refused a job just now. down is the part's own failure, of the same purpose.
//
// A job that is refused again although another one was served meanwhile is to blame itself. One that the part has begun to
// refuse since it served anybody is a suspect, and so are all that ask while it serves nobody. Three suspects are not by
// chance, nor are fewer if nobody else asks or the part has failed a short while ago: then it is the part, until it serves
// somebody. If only the claims of others are taken it is the job, after a while: it may be the only one that this node runs.
func (of *partJobs) culprit(at jobPurpose, f *jobFailure, down *failure, now time.Time) culprit {
	beside := !of.served[at.what].beside(at).Before(f.since)
	suspects, first := of.suspects(at.what)
	lasts := f.again && suspects > 0 && now.Sub(first) > sameMoment && now.Sub(of.served[at.what].latest()) > soonServed
	switch {
	case f.locked && !f.named:
		switch {
		case beside && isMoving(f.err) && now.Sub(f.since) > longLocked:
			return theJob
		case beside:
			return nobody
		}
		return somebodysLock
	case beside:
		if f.named || f.again {
			return theJob
		}
		return nobody
	case down.err != nil, lasts && (suspects >= fewJobs || !of.mayServe(at, now) || now.Sub(down.worked) < staleOnce):
		return theStore
	case f.named, f.again && now.Sub(f.since) > staleOnce:
		return theJob
	}
	return nobody
}

// suspects are the jobs that a part has begun to refuse when it had served somebody last, and since when it does so.
func (of *partJobs) suspects(what purpose) (n int, first time.Time) {
	served := of.served[what].latest()
	for at, f := range of.failures {
		if at.what == what && f.isRefused() && f.since.After(served) {
			if n++; n == 1 || f.since.Before(first) {
				first = f.since
			}
		}
	}
	return n, first
}

// clear takes suspects for innocent, and returns since when there are any.
func (of *partJobs) clear(what purpose) (first time.Time) {
	served := of.served[what].latest()
	for at, f := range of.failures {
		if at.what == what && (f.since.After(served) || f.namedAt.After(served)) {
			f.named = false
		}
	}
	_, first = of.suspects(what)
	return first
}

// acquit forgets the failures for which no job is to blame: a failure of the part is over, and they were its.
func (of *partJobs) acquit(what purpose) {
	maps.DeleteFunc(of.failures, func(at jobPurpose, f *jobFailure) bool {
		return at.what == what && !f.named && !f.logged && !f.locked
	})
}

// mayServe reports whether there is another job that a part may serve: it did so a short while ago, or took a claim of it, and
// has not refused it since.
func (of *partJobs) mayServe(at jobPurpose, now time.Time) bool {
	known := slices.Clip(of.served[at.what])
	if at.what != locking { // the store of locks is another one
		known = append(known, of.served[claiming]...)
	}
	return slices.ContainsFunc(known, func(s service) bool {
		f := of.failures[jobPurpose{at.what, s.job, s.oneOff}]
		return !s.isOf(at) && now.Sub(s.at) < staleOnce && (f == nil || !f.isRefused())
	})
}

// mayFollow reports whether a part that serves somebody again may still refuse others: they have not asked since.
func (of *partJobs) mayFollow(what purpose, now time.Time) bool {
	for at, f := range of.failures {
		if at.what == what && f.isRefused() && !f.named && now.Sub(f.at) < staleOnce {
			return true
		}
	}
	return false
}
