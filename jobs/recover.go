package jobs

import (
	"context"
	"errors"
	"log/slog"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// maxRecoveries is how often a run may be taken over before it has begun. A job that kills every node that gets hold
// of it must come to an end.
const maxRecoveries = 10

// takeOver ends the claim of another node that has run out, and runs its tick if it has not begun or may be tried
// again. Of all nodes that try, the store lets one.
func (s *Scheduler) takeOver(h *host, e *entry, p Pending) {
	if h.waiting.Err() != nil || !s.mayTakeOver(h.waiting, e, p) {
		return
	}
	f := Finish{Run: p.Run, Next: s.successor(e, p), Lease: s.lease, Orphan: true, Keep: s.cfg.History}
	if !p.PassedOn {
		f.Run.Ended = s.clock.now()
		f.Run.Outcome, f.Run.Reason = OutcomeLost, lostReason(p, s.lease)
		if f.Next == nil {
			f.Run.Reason += "; not run again, " + e.whyNot(p)
		}
	}
	ctx, cancel := context.WithTimeout(h.work, storeTimeout)
	defer cancel()
	err := s.cfg.Store.Finish(ctx, f)
	if err != nil {
		// Not over, taken by another node, or unknown: the next look at the job will tell.
		if !errors.Is(err, ErrGone) {
			s.heard(err)
		}
		return
	}
	if f.Run.Outcome != "" {
		s.report(f.Run)
	}
	if f.Next != nil {
		s.launch(h, e, *f.Next)
	}
}

// mayTakeOver reports whether the run's locks are out of its node's hands: a node that is cut off from the store of
// jobs, or was stopped for a while, may still hold them and be at work.
func (s *Scheduler) mayTakeOver(ctx context.Context, e *entry, p Pending) bool {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	for _, key := range e.job.Keys {
		info, err := s.locks.Holder(ctx, key)
		switch {
		case errors.Is(err, lockrt.ErrNotHeld):
		case err != nil:
			s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "lost job run not taken over, store of locks unavailable; trying again",
				slog.String("job", e.job.Name), slog.Time("tick", p.Run.Tick), slog.Any("error", err))
			return false
		case info.Node == p.Locker:
			return false
		}
	}
	return true
}

// successor is the run that makes up for a lost one; nil for none.
func (s *Scheduler) successor(e *entry, p Pending) *Pending {
	if p.PassedOn {
		next := s.pending(p.Run, p.Run.Attempt, TriggerRecovery)
		next.Recoveries = p.Recoveries
		return next
	}
	if e.whyNot(p) != "" {
		return nil
	}
	if p.Run.Started.IsZero() {
		next := s.pending(p.Run, p.Run.Attempt, TriggerRecovery)
		next.Recoveries = p.Recoveries + 1
		return next
	}
	return s.pending(p.Run, p.Run.Attempt+1, TriggerRecovery)
}

// whyNot says why a lost run is not run again, "" if it is.
func (e *entry) whyNot(p Pending) string {
	switch {
	case p.Run.Started.IsZero() && p.Recoveries >= maxRecoveries:
		return "too many nodes have died with it"
	case !p.Run.Started.IsZero() && p.Run.Attempt > e.job.Retries:
		return "it had begun and no retries are left"
	}
	return ""
}
