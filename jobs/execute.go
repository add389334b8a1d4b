package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// launch runs what is pending in a goroutine of its own, with all the attempts that follow.
func (s *Scheduler) launch(h *host, e *entry, p Pending) {
	s.runs.Go(func() { s.execute(h, e, p) })
}

func (s *Scheduler) execute(h *host, e *entry, p Pending) {
	for next := &p; next != nil; {
		x := &attempt{s: s, host: h, e: e, p: *next}
		ctx, cancel := context.WithCancelCause(h.work)
		ctx = context.WithValue(ctx, tickKey{}, tickValue{job: e.job.Name, tick: next.Run.Tick.In(e.zone)})
		l := s.track(e, next.Run.ID, cancel)
		next = x.do(ctx)
		s.untrack(l)
		cancel(nil)
	}
}

// attempt is one run in flight, from its claim to its record.
type attempt struct {
	s    *Scheduler
	host *host
	e    *entry
	p    Pending
}

// do goes through the attempt and returns the one that is to follow.
func (x *attempt) do(ctx context.Context) *Pending {
	if x.p.Run.Trigger == TriggerRetry {
		until, stop := both(ctx, x.host.waiting)
		ok := pause(until, backoff(x.p.Run))
		stop()
		if !ok {
			return x.giveUp(ctx)
		}
	}
	leases, refusal := x.lock(ctx)
	if refusal != nil {
		if refusal.outcome == "" {
			return x.giveUp(ctx)
		}
		x.end(refusal.outcome, refusal.reason, refusal.err)
		return nil
	}
	work := ctx
	if len(leases) > 0 {
		work = leases.Context()
		x.p.Run.Fence = leases.Lease(x.e.job.Keys[0]).Fence()
	}
	if !x.start(work) {
		x.unlock(leases)
		return x.giveUp(ctx)
	}
	res := call(work, x.e.job)
	// The lock goes first: the next run may begin while this one's record is on its way.
	lost := x.unlock(leases)
	outcome, reason := res.classify(lost)
	return x.end(outcome, reason, res.text())
}

// start notes in the store that the run begins. Until that is certain it must not: if this node died, another one would
// run the tick again, thinking that it had not begun.
func (x *attempt) start(ctx context.Context) bool {
	x.p.Run.Started = x.s.clock.now()
	for wait := minBackoff; ; wait = min(2*wait, maxBackoff) {
		callCtx, cancel := context.WithTimeout(ctx, storeTimeout)
		err := x.s.cfg.Store.Start(callCtx, x.p, x.s.lease)
		cancel()
		if err == nil {
			return ctx.Err() == nil
		}
		until, stop := both(ctx, x.host.waiting)
		ok := !errors.Is(err, ErrGone) && pause(until, wait)
		stop()
		if !ok {
			x.p.Run.Started = time.Time{}
			return false
		}
	}
}

// unlock releases the leases and returns the error of a lock that was lost. A release that the store did not answer is
// tried again beside what follows: jobs must not wait for the TTL of a lock that nobody holds.
func (x *attempt) unlock(leases lockrt.Leases) error {
	err := leases.Release(x.host.work)
	if err == nil || errors.Is(err, lockrt.ErrLost) {
		return err
	}
	x.s.cfg.Logger.LogAttrs(x.host.work, slog.LevelWarn, "job lock not released, trying again until its TTL",
		slog.String("job", x.e.job.Name), slog.Any("error", err))
	x.s.runs.Go(func() {
		for wait := minBackoff; err != nil && !errors.Is(err, lockrt.ErrLost) && pause(x.host.records, wait); wait = min(2*wait, maxBackoff) {
			err = leases.Release(x.host.work)
		}
	})
	return nil
}

// both returns a context that ends with either.
func both(ctx, other context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(other, cancel)
	return ctx, func() { stop(); cancel() }
}
