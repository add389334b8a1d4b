package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// end records the attempt and returns the next one, if this node is to make it.
func (x *attempt) end(outcome Outcome, reason, text string) *Pending {
	r := &x.p.Run
	r.Ended = x.s.clock.now()
	r.Outcome, r.Reason, r.Error = outcome, reason, text
	f := Finish{Run: *r, Next: x.retry(), Lease: x.s.lease, Keep: x.s.cfg.History}
	draining := x.host.waiting.Err() != nil
	if f.Next != nil && draining {
		f.Lease, f.Next.PassedOn = 0, true
	}
	if !x.tell(f) {
		return nil
	}
	x.s.report(*r)
	if draining {
		return nil
	}
	return f.Next
}

// retry returns the attempt after this one, nil if there is to be none.
func (x *attempt) retry() *Pending {
	r := x.p.Run
	retryable := []Outcome{OutcomeError, OutcomePanic, OutcomeTimeout, OutcomeLost, OutcomeCancelled}
	if x.e.job.Overlap == OverlapReplace {
		retryable = slices.DeleteFunc(retryable, func(o Outcome) bool { return o == OutcomeLost }) // it was replaced
	}
	if !slices.Contains(retryable, r.Outcome) || r.Attempt > x.e.job.Retries {
		return nil
	}
	return x.s.pending(r, r.Attempt+1, TriggerRetry)
}

// pending is a further run for the tick of r.
func (s *Scheduler) pending(r Run, attempt int, trigger string) *Pending {
	return &Pending{
		Run:    Run{ID: s.newID(), Job: r.Job, Tick: r.Tick, Claimed: s.clock.now(), Node: s.cfg.Node, Attempt: attempt, Trigger: trigger},
		Locker: s.locks.Node(),
	}
}

// giveUp leaves an attempt that has not begun: to other nodes if this one is shutting down, to whoever has taken it
// over, or, when its lock was lost or its claim could not be started, to the next who finds it.
func (x *attempt) giveUp(ctx context.Context) *Pending {
	if errors.Is(context.Cause(ctx), errTakenOver) {
		x.s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "job run taken over by another node before it began",
			slog.String("job", x.e.job.Name), slog.Time("tick", x.p.Run.Tick))
		return nil
	}
	next := x.s.pending(x.p.Run, x.p.Run.Attempt, x.p.Run.Trigger)
	next.Recoveries = x.p.Recoveries
	f := Finish{Run: x.p.Run, Next: next, Keep: x.s.cfg.History}
	f.Run.Started, f.Run.Outcome = time.Time{}, ""
	if draining := x.host.waiting.Err() != nil; draining {
		next.PassedOn = true
		x.tell(f)
		return nil
	}
	f.Lease = x.s.lease
	if !x.tell(f) {
		return nil
	}
	return next
}

// tell finishes the claim in the store, however long that takes until the end of the drain: a run that is not recorded
// would be taken for lost. It reports false if the run is not in flight any more.
func (x *attempt) tell(f Finish) bool {
	for wait := minBackoff; ; wait = min(2*wait, maxBackoff) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(x.host.records), storeTimeout)
		err := x.s.cfg.Store.Finish(ctx, f)
		cancel()
		switch {
		case err == nil:
			return true
		case errors.Is(err, ErrGone) && wait > minBackoff:
			return true // by an earlier try, whose answer was lost, or by another node: cannot be told apart
		case errors.Is(err, ErrGone):
			x.s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "job run was recorded as lost by another node while it ran",
				slog.String("job", f.Run.Job), slog.Time("tick", f.Run.Tick), slog.String("outcome", string(f.Run.Outcome)))
			return false
		}
		x.s.heard(err)
		if !pause(x.host.records, wait) {
			x.s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "job run not recorded, other nodes will take it for lost",
				slog.String("job", f.Run.Job), slog.Time("tick", f.Run.Tick), slog.String("outcome", string(f.Run.Outcome)), slog.Any("error", err))
			return false
		}
	}
}

// backoff is how long to wait before a retry: 1 s, 2 s, 4 s … up to a minute.
func backoff(r Run) time.Duration {
	return min(time.Second<<min(max(r.Attempt-2, 0), 6), time.Minute)
}

// lostReason says what is known of a run whose node died.
func lostReason(p Pending, lease time.Duration) string {
	began := "before the run began"
	if !p.Run.Started.IsZero() {
		began = "while it ran"
	}
	return fmt.Sprintf("node %s died or was cut off %s: its claim, renewed every %s, ran out", p.Run.Node, began, lease/3)
}
