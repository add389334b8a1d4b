package jobs

import (
	"context"
	"time"
)

// holding is what a tick that found its lock held is to make of that.
type holding int

const (
	inTime holding = iota // by a run that is just slow, or by something else: the tick is skipped
	heldUp                // by a run that the stores, or the death of a node, have held up
	gone                  // by a run that has ended since, if by any
)

// holder asks the store what has the lock of a tick on time. Ticks that were held up end up beside those on time, on
// whatever nodes they are; these must not be skipped for them.
func (x *attempt) holder(ctx context.Context) holding {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	view, err := x.s.cfg.Store.Look(ctx, []string{x.e.job.Name})
	if err != nil {
		return inTime
	}
	found := gone
	for _, f := range view.Jobs[0].InFlight {
		switch {
		case f.Run.ID == x.p.Run.ID:
		case x.e.wasHeldUp(f, view.Now):
			return heldUp
		case !f.Run.Started.IsZero():
			found = inTime
		}
	}
	return found
}

// wasHeldUp reports whether a run in flight began later than it should have, or has not begun and should have, other
// than for patience with such a run: a job that is slower than its schedule would go on waiting for itself.
func (e *entry) wasHeldUp(f InFlight, now time.Time) bool {
	switch {
	case f.Run.Trigger == TriggerManual, f.Run.Trigger == TriggerRetry: // they begin when they begin
		return false
	case f.Backlog:
		return true
	}
	began := f.Run.Started
	if began.IsZero() {
		began = now
	}
	return !f.Patient && began.Sub(f.Run.Claimed)-e.lock.Wait > slowStore
}

// becomePatient has the tick, and those that this node claims within the grace, wait for the lock. The store has to
// know, so that no other tick takes it for one that was held up.
func (x *attempt) becomePatient(ctx context.Context) bool {
	next := *x.p
	next.Patient = true
	f := Finish{Run: next.Run, Owner: x.s.session, Next: &next, Lease: x.s.lease, Keep: x.s.cfg.History}
	if err := x.e.part.finishes.do(ctx, f); err != nil {
		return false
	}
	now := x.e.part.clock.now()
	x.p.Patient = true
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	x.live.inFlight.Patient = true
	x.e.delayed = now
	return true
}
