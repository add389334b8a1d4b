package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lockgen/lockgen/jobs/internal/life"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// launch runs what is pending in a goroutine of its own, with all the attempts that follow. It is called from the loop,
// from other runs, and between here and done, so that the drain cannot have ended. p is the run's from then on.
func (s *Scheduler) launch(h *host, e *entry, p *InFlight) {
	ctx, l := s.begin(h, e, p)
	s.live.goroutines.Go(func() { s.execute(ctx, l, h, e, p) })
}

// here returns a job and the host to run it on, if this scheduler is running and has it. Until done is called the drain
// waits, as for a run.
func (s *Scheduler) here(job string) (e *entry, h *host, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e = s.entries[job]; e == nil || s.state != started || s.host.waiting.Err() != nil {
		return nil, nil, func() {}
	}
	done, _ = s.live.enter() // the drain, which closes them, changes the state first
	return e, s.host, done
}

// begin makes a run known to this node.
func (s *Scheduler) begin(h *host, e *entry, p *InFlight) (context.Context, *live) {
	ctx, cancel := context.WithCancelCause(h.work)
	ctx = context.WithValue(life.With(ctx), tickKey{}, tickValue{
		s: s, job: e.job.Name, tick: p.Run.Tick.In(e.zone), run: p.Run.ID,
	})
	l := s.live.add(e.part.n, p, cancel)
	if h.waiting.Err() != nil {
		cancel(errDraining) // dismiss may have been there before
	}
	return ctx, l
}

func (s *Scheduler) execute(ctx context.Context, l *live, h *host, e *entry, p *InFlight) {
	for again, denied := 0, 0; ; {
		x := &attempt{s: s, host: h, e: e, live: l, p: p, again: again, denied: denied, lastStart: p.Void}
		next := x.do(ctx)
		var nextCtx context.Context
		var nextLive *live
		if next != nil {
			nextCtx, nextLive = s.begin(h, e, next)
		}
		if s.live.remove(l) {
			e.part.free(e)
		}
		l.cancel(nil)
		if next == nil {
			return
		}
		if next.Run.ID != p.Run.ID {
			again, denied = 0, 0
		} else if again++; x.gone {
			denied++
		}
		ctx, l, p = nextCtx, nextLive, next
	}
}

// attempt is one run in flight, from its claim to its record.
type attempt struct {
	s    *Scheduler
	host *host
	e    *entry
	live *live
	p    *InFlight
	keys []lockrt.KeyOptions // the locks that it takes
	told bool                // the log has been told that it does not get them

	again  int  // how often it was made before, and given up before it began
	denied int  // how often the store did not know it then, and knew it at once after that
	gone   bool // the store does not know it

	lastStart time.Time // Run.Started of the last Start that this node has sent for the run, before this attempt too
}

// do goes through the attempt and returns the one that is to follow.
func (x *attempt) do(ctx context.Context) *InFlight {
	if x.p.Run.Trigger == TriggerRetry && !pause(ctx, backoff(x.p.Run.Attempt)) {
		return x.giveUp(ctx)
	}
	// The second time at once: what it was given up for is over then.
	if x.again > 1 && !pause(ctx, min(minBackoff<<min(x.again, 10), maxPause)) {
		return x.giveUp(ctx)
	}
	leases, refusal := x.lockPatiently(ctx)
	if refusal != nil {
		if refusal.outcome == "" {
			return x.giveUp(ctx)
		}
		x.end(ending{outcome: refusal.outcome, reason: refusal.reason, text: refusal.err, final: true})
		return nil
	}
	work := ctx
	if len(leases) > 0 {
		work = leases.Context()
		x.p.Run.Fence = leases.Lease(x.keys[0].Key).Fence()
	}
	if !x.start(work) {
		x.unlock(leases)
		if ctx.Err() == nil && x.tooLate() {
			x.end(ending{
				outcome: OutcomeSkipped, final: true,
				reason: "store of jobs unavailable until the tick was too late, and Misfire is skip",
			})
			return nil
		}
		return x.giveUp(ctx)
	}
	work, done := x.s.telemetry.started(work, &x.p.Run, x.e.jitter(x.p.Run.Tick))
	res := invoke(work, x.e.work(&x.p.Run), x.e.job.Timeout)
	// Before the lock goes: the next run may begin with that, on another node, and must not seem to overlap this one.
	x.p.Run.Ended = x.e.part.clock.ending(x.p.Run.Started)
	// And the lock goes before the record: the next run need not wait for that.
	lost := x.unlock(leases)
	end := res.classify(lost)
	end.text = res.text()
	done(end)
	return x.end(end)
}

// start notes in the store that the run begins. Until that is certain it must not: if this node died, another one would
// run the tick again, thinking that it had not begun.
func (x *attempt) start(ctx context.Context) bool {
	for wait := minBackoff; ; wait = min(2*wait, maxPause) {
		x.p.Run.Started = x.nextStart()
		err := x.e.part.starts.do(ctx, Start{Run: x.p.Run, Owner: x.s.session, Lease: x.s.lease})
		x.gone = errors.Is(err, ErrGone)
		if ctx.Err() == nil { // else what it said says nothing about the store
			x.e.part.heardOfRun(starting, &x.p.Run, x.contradiction(err))
		}
		if err == nil && x.s.live.begin(ctx, x.live, &x.p.Run) {
			// The work begins after the answer.
			x.p.Run.Started = latest(x.lastStart, x.e.part.clock.beginning(x.p.Run.Claimed))
			return true
		}
		var cancelled *CancelledError
		if errors.As(err, &cancelled) {
			x.live.cancel(&cancelledError{author: cancelled.Notice.Author, reason: cancelled.Notice.Reason})
		}
		if err == nil || cancelled != nil || x.gone || x.tooLate() || !pause(ctx, x.s.together(wait)) {
			x.p.Run.Started = time.Time{}
			return false
		}
	}
}

// nextStart is when the run begins. It is later than all earlier tries to begin it, also if the store's clock was set
// back: by that the store tells what comes late.
func (x *attempt) nextStart() time.Time {
	x.lastStart = latest(x.lastStart.Add(time.Microsecond), x.e.part.clock.beginning(x.p.Run.Claimed))
	return x.lastStart
}

// contradiction is the answer to the start of a run, or what is wrong with it: a store that has put the run in flight
// again more than once has it in flight.
func (x *attempt) contradiction(err error) error {
	if x.gone && x.denied > 1 {
		return fmt.Errorf("the job store does not start a run that it has in flight: %v", err)
	}
	return err
}

// tooLate reports whether the tick is not to be run any more, since a store was away at the begin: it is past its grace,
// and Misfire is skip. That is said of ticks: what somebody has asked for is run, and so is a retry.
func (x *attempt) tooLate() bool {
	j, r := &x.e.job, &x.p.Run
	return j.Misfire == MisfireSkip && r.Attempt == 1 && !r.isAskedFor() &&
		x.e.part.clock.now().Sub(r.Tick.Add(j.Jitter)) > j.Grace
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
	x.s.live.goroutines.Go(func() {
		for wait := minBackoff; pause(x.host.records, wait); wait = min(2*wait, maxBackoff) {
			if err := leases.Release(x.host.work); err == nil || errors.Is(err, lockrt.ErrLost) {
				return
			}
		}
	})
	return nil
}
