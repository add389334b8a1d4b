package jobs

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// ending is how an attempt ended.
type ending struct {
	outcome      Outcome
	reason, text string
	final        bool // not to be retried, whatever the outcome
}

// end records the attempt and returns the next one, if this node is to make it.
func (x *attempt) end(how ending) *InFlight {
	r := &x.p.Run
	if r.Ended.IsZero() { // it has not begun
		r.Ended = x.e.part.clock.ending(r.Claimed)
	}
	r.Outcome, r.Reason, r.Error = how.outcome, plain(how.reason, maxErrorText), plainLines(how.text, maxErrorText)
	f := Finish{Run: *r, Owner: x.s.session, Lease: x.s.lease, Keep: x.s.cfg.History}
	if !how.final {
		f.Next = x.retry()
	}
	draining := x.host.waiting.Err() != nil
	if f.Next != nil && draining {
		f.Next.Owner, f.Next.PassedOn = Nobody, true
	}
	done, asked := x.tell(&f)
	if !done {
		return nil
	}
	*r = f.Run
	r.CancelAsked = asked
	x.s.report(*r)
	if draining || asked != nil {
		return nil
	}
	return f.Next
}

// furtherAttempt is a further run for the tick of r.
func (s *Scheduler) furtherAttempt(r Run, attempt int, trigger string) *InFlight {
	return &InFlight{
		Run: Run{
			ID: s.newID(r.Job), Job: r.Job, Tick: r.Tick, Claimed: s.partOf(r.Job).clock.now(), Node: s.cfg.Node,
			Attempt: attempt, Trigger: trigger, Author: r.Author, OneOff: r.OneOff, Payload: r.Payload,
		},
		Owner: s.session, Locker: s.locks.Node(), Program: s.cfg.Program,
	}
}

// giveUp leaves an attempt that has not begun: to whoever has taken it over, to other nodes if this one is shutting
// down, for good if somebody has cancelled it. When its lock was lost or its begin could not be noted, it is made
// again.
func (x *attempt) giveUp(ctx context.Context) *InFlight {
	cause := context.Cause(ctx)
	var cancelled *cancelledError
	switch {
	case errors.Is(cause, errTakenOver):
		x.s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "job run taken over by another node before it began",
			slog.String("job", x.e.job.Name), slog.Time("tick", x.p.Run.Tick))
		return nil
	case errors.As(cause, &cancelled):
		x.end(ending{outcome: OutcomeCancelled, reason: cancelled.Error() + ", before it began", final: true})
		return nil
	}
	x.delay()
	f := x.handBack()
	next := f.Next
	draining := x.host.waiting.Err() != nil
	if draining {
		next.Owner, next.PassedOn = Nobody, true
	}
	if done, _ := x.tell(f); !done || draining {
		return nil
	}
	return f.Next // nil if the run was completed after all
}

// handBack is the Finish by which the attempt, which has not begun, gives its run up to this node. Copies of it, and of
// the starts that were sent before it, may reach the store when the run has begun in a later attempt: each says which
// starts it knows of.
func (x *attempt) handBack() *Finish {
	next := *x.p
	next.Run.Started, next.Run.Fence, next.Void = time.Time{}, 0, x.lastStart
	f := &Finish{Run: next.Run, Owner: x.s.session, Next: &next, Lease: x.s.lease, Keep: x.s.cfg.History}
	f.Run.Started = x.lastStart
	return f
}

// tell finishes the claim in the store, however long that takes until the end of the drain: a run that is not recorded
// would be taken for lost. It reports false if the run is not in flight any more, and who wanted it to end. A run whose
// work was committed is a success, whatever became of it after that.
func (x *attempt) tell(f *Finish) (done bool, asked *Notice) {
	ctx := context.WithoutCancel(x.host.records)
	x.s.live.tells(x.live)
	restored := false
	for wait := minBackoff; ; wait = min(2*wait, maxPause) {
		err := x.e.part.finishes.do(ctx, *f)
		x.e.part.heardOfRun(recording, &x.p.Run, err)
		var cancelled *CancelledError
		switch {
		case err == nil:
			x.s.memory.noteRun(f.Run)
			return true, nil
		case errors.As(err, &cancelled):
			x.s.memory.noteRun(f.Run)
			return true, &cancelled.Notice
		case errors.Is(err, ErrCompleted):
			f.complete()
			continue
		case errors.Is(err, ErrGone) && !restored && x.restoreRun(x.host.records, &f.Run):
			restored = true
			continue
		case errors.Is(err, ErrGone) && wait > minBackoff && !x.overruled(ctx, &f.Run):
			return true, nil // by an earlier try, whose answer was lost
		case errors.Is(err, ErrGone):
			x.s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "job run was recorded as lost by another node while it ran",
				slog.String("job", f.Run.Job), slog.Time("tick", f.Run.Tick),
				slog.String("outcome", string(f.Run.Outcome)))
			return false, nil
		}
		if !pause(x.host.records, x.s.together(wait)) {
			x.s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "job run not recorded, other nodes will take it for lost",
				slog.String("job", f.Run.Job), slog.Time("tick", f.Run.Tick),
				slog.String("outcome", string(f.Run.Outcome)), slog.Any("error", err))
			return false, nil
		}
	}
}

// complete makes f the end of a run that was completed in a transaction.
func (f *Finish) complete() {
	if f.Run.Outcome != OutcomeOK {
		f.Run.Reason = strings.TrimSuffix(completedReason+"; then "+f.Run.Reason, "; then ")
	}
	f.Run.Outcome, f.Next = OutcomeOK, nil
}

const completedReason = "its work was committed"

// overruled reports whether another node has recorded the run, as lost.
func (x *attempt) overruled(ctx context.Context, r *Run) bool {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	records, err := x.s.cfg.Store.Runs(ctx, []string{r.Job}, x.s.cfg.History)
	if err != nil || r.Outcome == "" {
		return false
	}
	i := slices.IndexFunc(records[0], func(kept Run) bool { return kept.ID == r.ID })
	return i >= 0 && records[0][i].Outcome == OutcomeLost && r.Outcome != OutcomeLost
}
