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
// whatever nodes they are; these must not be skipped for them. since is when the last one began that was held up.
func (x *attempt) holder(ctx context.Context) (by holding, since time.Time) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	view, err := x.s.cfg.Store.Look(ctx, []string{x.e.job.Name})
	if err != nil {
		return inTime, since
	}
	by = gone
	for _, f := range view.Jobs[0].InFlight {
		if f.Run.ID == x.p.Run.ID {
			continue
		}
		if at := x.e.heldUpAt(f, view.Now); !at.IsZero() {
			by, since = heldUp, latest(since, at)
		} else if by == gone && !f.Run.Started.IsZero() {
			by = inTime
		}
	}
	return by, since
}

// heldUpAt returns when a run in flight began, or now, if it began later than it should have, or has not begun and
// should have. One that was only patient with such a run counts for the grace after that one began: a job that is
// slower than its schedule would go on waiting for itself. The zero time says that it was not held up.
func (e *entry) heldUpAt(f InFlight, now time.Time) time.Time {
	if f.Run.Trigger == TriggerManual || f.Run.Trigger == TriggerRetry { // they begin when they begin
		return time.Time{}
	}
	began := f.Run.Started
	if began.IsZero() {
		began = now
	}
	switch {
	case f.Backlog, !f.Patient && began.Sub(f.Run.Claimed)-e.lock.Wait > slowStore:
		return began
	case f.Patient && now.Sub(f.HeldUp) < e.job.Grace:
		return f.HeldUp
	}
	return time.Time{}
}

// becomePatient has the tick, and those that this node claims within the grace, wait for the lock. The store has to
// know, so that no other tick takes it for one that was held up.
func (x *attempt) becomePatient(ctx context.Context, since time.Time) bool {
	f := x.handBack()
	f.Next.Patient, f.Next.HeldUp = true, since
	if err := x.e.part.finishes.do(ctx, *f); err != nil {
		return false
	}
	x.p.Patient, x.p.HeldUp = true, since
	x.s.live.change(x.live, func(p *InFlight) { p.Patient, p.HeldUp = true, since })
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	x.e.delayed = latest(x.e.delayed, since)
	return true
}
