package jobs

import (
	"context"
	"errors"
	"time"
)

// live is a run in flight on this node.
type live struct {
	id, job  string
	cancel   context.CancelCauseFunc // of the context of its work
	begun    bool                    // guarded by Scheduler.mu
	telling  bool                    // its end is on the way to the store; guarded by Scheduler.mu
	inFlight InFlight                // as the store should have it; guarded by Scheduler.mu
}

// errTakenOver is the cause of the context of a run that others have recorded as lost.
var errTakenOver = errors.New("its node gave no sign of life for too long, and another node has taken the run over")

// cancelledError is the cause of the context of a run that somebody wants to end.
type cancelledError struct{ author, reason string }

func (e *cancelledError) Error() string {
	if e.reason == "" {
		return "cancelled by " + e.author
	}
	return "cancelled by " + e.author + ": " + e.reason
}

// obey cancels a run of this node.
func (s *Scheduler) obey(n Notice) {
	s.mu.Lock()
	l := s.live[n.ID] // nil if it has ended meanwhile, or is another node's
	s.mu.Unlock()
	switch {
	case l == nil:
	case n.Taken:
		l.cancel(errTakenOver)
	default:
		l.cancel(&cancelledError{author: n.Author, reason: n.Reason})
	}
}

// errDraining is the cause of the context of a run that is to leave before it has begun.
var errDraining = errors.New("the node is shutting down")

func (s *Scheduler) track(h *host, e *entry, p *InFlight, cancel context.CancelCauseFunc) *live {
	l := &live{id: p.Run.ID, job: e.job.Name, cancel: cancel, inFlight: *p}
	id := l.id
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[id] = l
	e.part.live++
	s.coming++
	s.perJob[l.job]++
	if h.waiting.Err() != nil {
		l.cancel(errDraining) // dismiss may have been here before
	}
	return l
}

// dismiss cancels the runs that have not begun: the node shuts down, and other nodes are to have them.
func (s *Scheduler) dismiss() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.live {
		if !l.begun {
			l.cancel(errDraining)
		}
	}
}

// begins reports whether a run may begin; from then on dismiss leaves it alone. ctx is that of its work.
func (s *Scheduler) begins(ctx context.Context, l *live, r *Run) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.begun = ctx.Err() == nil
	if l.begun {
		l.inFlight.Run.Started, l.inFlight.Run.Fence = r.Started, r.Fence
		s.begun++
		s.coming--
	}
	return l.begun
}

func (s *Scheduler) untrack(e *entry, l *live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, l.id)
	e.part.live--
	if !l.begun {
		s.coming--
	}
	if s.perJob[l.job]--; s.perJob[l.job] == 0 {
		delete(s.perJob, l.job)
		if l.inFlight.Backlog {
			e.part.freed = append(e.part.freed, e)
			e.part.rouse()
		}
	}
}

// setTelling notes whether a run's end is on its way to the store.
func (s *Scheduler) setTelling(l *live, yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.telling = yes
}

func (s *Scheduler) isLive(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id] != nil
}

func (s *Scheduler) liveRuns(job string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.perJob[job]
}

// patientUntil is until when ticks of the job wait for the lock, which a run that was held up may have.
func (s *Scheduler) patientUntil(e *entry) time.Time { return s.delayedAt(e).Add(e.job.Grace) }

// delayedAt is when a run of the job was held up last, as far as this node knows.
func (s *Scheduler) delayedAt(e *entry) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return e.delayed
}

func (s *Scheduler) setCursor(e *entry, cursor time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.cursor = cursor
}

// here returns a job and the host to run it on, if this scheduler is running and has it. Until done is called the drain
// waits, as for a run.
func (s *Scheduler) here(job string) (e *entry, h *host, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e = s.entries[job]; e == nil || s.state != started || s.host.waiting.Err() != nil {
		return nil, nil, func() {}
	}
	s.runs.Add(1) // see spawn
	return e, s.host, s.runs.Done
}

// spawn runs work as one of the goroutines that the drain waits for. It reports false, and does not, once that has
// begun.
func (s *Scheduler) spawn(work func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != started {
		return false
	}
	s.runs.Go(work) // before the drain, which changes the state, waits for the number to fall
	return true
}
