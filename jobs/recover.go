package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// maxRecoveries is how often a run may be taken over before it has begun. A job that kills each node which runs it is
// given up then.
const maxRecoveries = 10

// takeOverSize is how many runs are taken over together: the locks of each are asked for first.
const takeOverSize = 256

// recoverer takes over the runs in one part of the store that nobody looks after.
type recoverer struct {
	s    *Scheduler
	part *part
	busy atomic.Bool // orphans are being taken over
}

// recover takes over what it can of the runs that nobody looks after. It goes on beside the heartbeats, once at a time:
// the locks of a dead node are asked for, and there may be many.
func (r *recoverer) recover(h *host, orphans []InFlight) {
	s := r.s
	s.mu.Lock()
	var mine []InFlight
	for _, o := range orphans {
		if e := s.entries[o.Run.Job]; e != nil && e.isOurs() {
			mine = append(mine, o)
		}
	}
	s.mu.Unlock()
	if len(mine) == 0 || !r.busy.CompareAndSwap(false, true) {
		return
	}
	begun := s.live.spawn(func() {
		defer r.busy.Store(false)
		// All nodes see the same orphans: in an order of its own each finds some that the others have not taken.
		rand.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
		for len(mine) > 0 && h.waiting.Err() == nil {
			n := min(len(mine), takeOverSize)
			r.takeOver(h, mine[:n], true)
			mine = mine[n:]
		}
	})
	if !begun {
		r.busy.Store(false)
	}
}

// takeOver ends runs that were left behind, and runs their ticks if they have not begun or may be tried again. Of all
// nodes that try, the store lets one.
func (r *recoverer) takeOver(h *host, left []InFlight, orphans bool) {
	s := r.s
	var entries []*entry
	var finishes []Finish
	for _, run := range left {
		e := s.entry(run.Run.Job)
		if run.Owner != Nobody && !r.mayTakeOver(h.waiting, e, run) {
			continue
		}
		entries = append(entries, e)
		finishes = append(finishes, r.succession(e, run, orphans))
	}
	if len(finishes) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(h.work, storeTimeout)
	defer cancel()
	errs := s.cfg.Store.Finish(ctx, finishes)
	r.part.heardOfEnds(finishes, errs)
	for i, err := range errs {
		f := finishes[i]
		var cancelled *CancelledError
		switch {
		case errors.As(err, &cancelled): // so that nothing follows
			if f.Run.CancelAsked = &cancelled.Notice; f.Run.Outcome != "" {
				s.report(f.Run)
			}
		case errors.Is(err, ErrGone): // taken by another node, or alive after all
		case errors.Is(err, ErrCompleted): // in this moment: the next heartbeat says so
		case err != nil: // unknown: the next heartbeat will tell
		default:
			if f.Run.Outcome != "" {
				s.report(f.Run)
			}
			if f.Next != nil {
				s.launch(h, entries[i], f.Next)
			}
		}
	}
}

// mayTakeOver reports whether the run's locks are out of its node's hands: a node that is cut off from the store of
// jobs, or was stopped for a while, may still hold them and be at work.
func (r *recoverer) mayTakeOver(ctx context.Context, e *entry, p InFlight) bool {
	s := r.s
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	keys, err := e.keys(&p.Run)
	if err != nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "lost job run not taken over, its locks are not known; trying again",
			slog.String("job", e.job.Name), slog.Time("tick", p.Run.Tick), slog.Any("error", err))
		return false
	}
	for _, key := range keys {
		info, err := s.locks.Holder(ctx, key.Key)
		switch {
		case errors.Is(err, lockrt.ErrNotHeld):
		case err != nil:
			s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn,
				"lost job run not taken over, store of locks unavailable; trying again",
				slog.String("job", e.job.Name), slog.Time("tick", p.Run.Tick), slog.Any("error", err))
			return false
		case slices.ContainsFunc(info.Holders, func(h lockrt.Holder) bool { return h.Node == p.Locker }):
			return false
		}
	}
	return true
}

// succession ends a run that was left behind and says what makes up for it. What waits for any node keeps its ID; what
// a node has left by dying is recorded as lost.
func (r *recoverer) succession(e *entry, p InFlight, orphan bool) Finish {
	s := r.s
	f := Finish{Run: p.Run, Owner: p.Owner, Lease: s.lease, Orphan: orphan, Keep: s.cfg.History}
	other := r.otherProgram(p)
	if p.Owner == Nobody && other != "" {
		f.Run.Ended = e.part.clock.ending(p.Run.latest())
		f.Run.Outcome, f.Run.Reason = OutcomeSkipped, other
		return f
	}
	if p.Owner == Nobody {
		f.Run.Outcome = ""
		next := p
		next.Owner, next.Locker, next.PassedOn = s.session, s.locks.Node(), false
		next.Run.Node = s.cfg.Node
		if p.PassedOn {
			next.Run.Trigger = takenOver(p.Run.Trigger)
			next.delay()
		}
		f.Next = &next
		return f
	}
	f.Run.Ended = e.part.clock.ending(p.Run.latest())
	f.Run.Outcome, f.Run.Reason = OutcomeLost, lostReason(p, s.lease)
	if p.Completed {
		f.complete()
		return f
	}
	why := firstOf(other, e.whyNot(p))
	switch {
	case why != "":
		f.Run.Reason += "; not run again, " + why
	case p.Run.Started.IsZero():
		f.Next = s.furtherAttempt(p.Run, p.Run.Attempt, takenOver(p.Run.Trigger))
		f.Next.Recoveries = p.Recoveries + 1
	default:
		f.Next = s.furtherAttempt(p.Run, p.Run.Attempt+1, TriggerRecovery)
	}
	if f.Next != nil {
		f.Next.Backlog, f.Next.Patient = p.Backlog, p.Patient
		if p.Run.Started.IsZero() {
			f.Next.delay()
		}
	}
	return f
}

// takenOver is the trigger of a run that another node makes, which has not begun. What was asked for stays that.
func takenOver(trigger string) string {
	if trigger == TriggerManual {
		return trigger
	}
	return TriggerRecovery
}

// otherProgram says why a run that was left behind is not made by this node, "" if it may be: it was for another
// program, and the job is this one's since.
func (r *recoverer) otherProgram(p InFlight) string {
	own := r.s.cfg.Program
	if p.Program == "" || p.Program == own {
		return ""
	}
	return fmt.Sprintf("program %q, which it was for, has no node any more, and program %q has a job of the same name",
		p.Program, own)
}

// whyNot says why a lost run is not run again, "" if it is.
func (e *entry) whyNot(p InFlight) string {
	switch {
	case p.Run.Started.IsZero() && p.Recoveries >= maxRecoveries:
		return "too many nodes have died with it"
	case !p.Run.Started.IsZero() && p.Run.Attempt > e.job.Retries:
		return "it had begun and no retries are left"
	}
	return ""
}

// reconcile looks for runs in flight that belong to this session but that nothing here looks after: an answer was lost
// and then forgotten about, or the store has forgotten the end of a run. No other node would touch them.
func (r *recoverer) reconcile(h *host) {
	s, p := r.s, r.part
	ctx, cancel := context.WithTimeout(h.records, storeTimeout)
	defer cancel()
	var strays []InFlight
	old := p.clock.now().Add(-2 * storeTimeout) // younger ones may be of calls that are still under way
	var known []Finish
	err := r.flights(ctx, func(f InFlight) {
		if run, ended := s.memory.recordOf(f.Run.ID); ended {
			known = append(known, Finish{Run: run, Owner: s.session, Keep: s.cfg.History})
		} else if f.Run.Claimed.Before(old) {
			s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "job run found that this node has lost sight of",
				slog.String("job", f.Run.Job), slog.Time("tick", f.Run.Tick), slog.String("run", f.Run.ID))
			strays = append(strays, f)
		}
	})
	if err != nil {
		p.heard(reading, err)
		return
	}
	if len(known) > 0 { // the store has gone back to before their ends
		p.heardOfEnds(known, s.cfg.Store.Finish(ctx, known))
	}
	if len(strays) > 0 {
		s.live.spawn(func() { r.takeOver(h, strays, false) })
	}
}

// flights calls see with the runs in flight of this session that nothing here looks after.
func (r *recoverer) flights(ctx context.Context, see func(InFlight)) error {
	s, p := r.s, r.part
	s.mu.Lock()
	entries := p.entries()
	s.mu.Unlock()
	for batch := range slices.Chunk(entries, 4*claimBatch) {
		view, err := s.cfg.Store.Look(ctx, names(batch))
		if err != nil {
			return err
		}
		for _, job := range view.Jobs {
			for _, f := range job.InFlight {
				if f.Owner == s.session && !s.live.has(f.Run.ID) {
					see(f)
				}
			}
		}
	}
	return nil
}

// lostReason says what is known of a run whose node died.
func lostReason(p InFlight, lease time.Duration) string {
	began := "before the run began"
	if !p.Run.Started.IsZero() {
		began = "while it ran"
	}
	return "node " + p.Run.Node + " died or was cut off " + began + ": it gave no sign of life for " + lease.String()
}
