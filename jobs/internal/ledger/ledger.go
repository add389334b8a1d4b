// Package ledger decides what the calls of a jobs.Store change: pure Go on values, without a clock, a lock or a server.
// The store in memory applies it to all that there is, under a mutex. The store on SQL applies it to the rows that a
// call is about, which it has locked, and writes those that changed. So both have the same semantics by construction.
package ledger

import (
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// JoinDepth is how many records are searched for one that a skipped tick may share. Skips alternate between as many
// reasons as there are nodes that may hold a lock.
const JoinDepth = 32

// State is what a store knows: all of it, or the part that a call is about.
type State struct {
	Jobs     map[string]*Job
	InFlight map[string]jobs.InFlight // by run
	Alive    map[string]time.Time     // until when the lease of a session lasts
	Notices  map[string]Notice        // by run
	Waiting  map[string]jobs.OneOff   // by ID
	Past     map[string]time.Time     // one-off jobs that were claimed, by ID, and runs, by AskedFor: when
	Failures []jobs.Run               // records that say of a failure, oldest first; those that come are added
}

// NewState returns an empty State.
func NewState() *State {
	return &State{
		Jobs: make(map[string]*Job), InFlight: make(map[string]jobs.InFlight), Alive: make(map[string]time.Time),
		Notices: make(map[string]Notice), Waiting: make(map[string]jobs.OneOff), Past: make(map[string]time.Time),
	}
}

// Job is the state of one job or handler.
type Job struct {
	Cursor   time.Time // zero: it was never registered
	MadeUp   time.Time // the cursor that the store set itself, see jobs.Store.Register
	Owed     []jobs.Span
	Paused   *jobs.Pause // nil: it is not
	Switched int64       // version of the last pause or resume
	Missed   int64
	Spec     Spec

	Runs     []jobs.Run // the records that are kept, oldest first; of many at least the last JoinDepth
	Kept     int64      // how many records were ever kept, one that joins another not counted
	Recorded time.Time  // when the last one was
	Failing  bool       // it says of a failure
}

// Notice is a notice with the session that it is for; "": the owner of the run.
type Notice struct {
	jobs.Notice
	Owner string
}

// job returns the state of a job, a new one if it is not known.
func (s *State) job(name string) *Job {
	j := s.Jobs[name]
	if j == nil {
		j = &Job{}
		s.Jobs[name] = j
	}
	return j
}

// extend makes an owner's lease last from now.
func (s *State) extend(owner string, now time.Time, lease time.Duration) {
	if owner != jobs.Nobody {
		s.Alive[owner] = now.Add(lease)
	}
}

// hold puts a run in flight.
func (s *State) hold(p jobs.InFlight, now time.Time, lease time.Duration) {
	s.InFlight[p.Run.ID] = p
	s.extend(p.Owner, now, lease)
}

// owned returns a run in flight of an owner.
func (s *State) owned(id, owner string) (jobs.InFlight, bool) {
	p, ok := s.InFlight[id]
	return p, ok && p.Owner == owner
}

// record adds a record. Ticks that are skipped share one with those skipped for the same reason since the last run.
func (j *Job) record(r jobs.Run, keep int, now time.Time) {
	j.Recorded, j.Failing = now, r.Failed()
	j.Kept++
	for i := len(j.Runs) - 1; i >= max(len(j.Runs)-JoinDepth, 0) && j.Runs[i].Outcome == jobs.OutcomeSkipped; i-- {
		if joined, ok := r.Join(j.Runs[i]); ok {
			r, j.Runs = joined, slices.Delete(j.Runs, i, i+1)
			j.Kept--
			break
		}
	}
	j.Runs = append(j.Runs, r)
	if extra := len(j.Runs) - keep; extra > 0 {
		j.Runs = slices.Delete(j.Runs, 0, extra)
	}
}

// noteFailure keeps a record beside those of its job.
func (s *State) noteFailure(r jobs.Run) {
	if r.Failed() {
		s.Failures = append(s.Failures, r)
	}
}

// Is reports whether the job is in a state.
func (j *Job) Is(state jobs.JobState) bool {
	switch state {
	case jobs.StateAny, jobs.StateHandler:
		return true
	case jobs.StateFailing:
		return j.Failing
	case jobs.StatePaused:
		return j.Paused != nil
	case jobs.StateMissed:
		return j.Missed > 0
	case jobs.StateNever:
		return j.Kept == 0
	}
	return false
}
