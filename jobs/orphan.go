package jobs

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"
)

const (
	// retireTime is after what time without a node a job counts as removed, while nodes of its program live: nothing of
	// the time since it was seen last is owed when it comes back.
	retireTime = 24 * time.Hour
	// orphanTime is after what time what is left of a removed job ends by itself: its runs in flight, its pause,
	// one-off jobs for a handler that no node has had since they were due.
	orphanTime = 7 * 24 * time.Hour
)

// tidy ends what has been left of removed jobs for too long.
func (s *Scheduler) tidy(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*storeTimeout)
	defer cancel()
	if err := s.endOrphans(ctx); err != nil && ctx.Err() == nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn,
			"what is left of removed jobs not looked at, store unavailable; trying again",
			slog.Any("error", err))
	}
}

func (s *Scheduler) endOrphans(ctx context.Context) error {
	names, err := s.reads.names(ctx, StateAny, StateHandler)
	if err != nil {
		return err
	}
	nodes, err := s.cfg.Store.Nodes(ctx)
	if err != nil {
		return err
	}
	living, programs := s.reads.living(nodes), make(map[string]bool)
	for _, n := range nodes {
		if living[n.Session] != "" {
			programs[n.Program] = true
		}
	}
	seen, owned := make(map[string]time.Time), make(map[string]bool) // by job
	now := s.oneOffPart().clock.now()
	for batch := range slices.Chunk(names, listBatch) {
		view, err := s.cfg.Store.Look(ctx, batch)
		if err != nil {
			return err
		}
		for i := range view.Jobs {
			spec := &view.Jobs[i].Spec
			seen[batch[i]] = spec.Seen
			if owned[batch[i]] = spec.newest(func(session string) bool { return living[session] != "" }) != nil; owned[batch[i]] {
				continue
			}
			if err := s.retire(ctx, spec, programs, now); err != nil {
				return err
			}
		}
	}
	old := func(job string, since time.Time) bool {
		return !owned[job] && now.Sub(since) > orphanTime && now.Sub(seen[job]) > orphanTime
	}
	if err := s.endOrphanedRuns(ctx, old); err != nil {
		return err
	}
	return s.endOrphanedOnce(ctx, old, now)
}

// retire ends the timing of an orphaned job, and later its pause.
func (s *Scheduler) retire(ctx context.Context, spec *JobSpec, programs map[string]bool, now time.Time) error {
	if len(spec.Defs) == 0 || len(spec.Timings) == 0 {
		return nil
	}
	lives := programs[spec.Defs[len(spec.Defs)-1].Definition.Program]
	if inForce := spec.Timings[len(spec.Timings)-1].Timing; lives && inForce != (Timing{}) &&
		now.Sub(spec.Seen) > retireTime {
		if err := s.cfg.Store.Retire(ctx, spec.Job, spec.Epoch); err != nil && !errors.Is(err, ErrGone) {
			return err
		}
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "job counts as removed, no node has it",
			slog.String("job", spec.Job),
			slog.Time("since", spec.Seen))
	}
	if now.Sub(spec.Seen) <= orphanTime {
		return nil
	}
	view, err := s.cfg.Store.Look(ctx, []string{spec.Job})
	if err != nil || view.Jobs[0].Paused == nil {
		return err
	}
	return s.Resume(ctx, spec.Job, "node "+s.cfg.Node+", since no node has the job")
}

const orphanReason = "no node has had the job for too long: it was removed or renamed"

func (s *Scheduler) endOrphanedRuns(ctx context.Context, old func(string, time.Time) bool) error {
	flights, err := s.cfg.Store.InFlight(ctx)
	if err != nil {
		return err
	}
	var finishes []Finish
	for _, p := range flights {
		if !old(p.Run.Job, p.Run.Claimed) {
			continue
		}
		f := Finish{Run: p.Run, Owner: p.Owner, Orphan: true, Keep: s.cfg.History}
		f.Run.Ended = s.partOf(p.Run.Job).clock.ending(p.Run.latest())
		f.Run.Outcome, f.Run.Reason = OutcomeLost, orphanReason
		if p.Run.Started.IsZero() {
			f.Run.Outcome = OutcomeSkipped
		}
		if p.Completed {
			f.complete()
		}
		finishes = append(finishes, f)
	}
	for chunk := range slices.Chunk(finishes, claimBatch) {
		for i, err := range s.cfg.Store.Finish(ctx, chunk) {
			var cancelled *CancelledError
			if err == nil || errors.As(err, &cancelled) {
				s.report(chunk[i].Run)
			}
		}
	}
	return nil
}

func (s *Scheduler) endOrphanedOnce(ctx context.Context, old func(string, time.Time) bool, now time.Time) error {
	waiting, err := s.cfg.Store.Waiting(ctx, claimBatch)
	if err != nil {
		return err
	}
	for _, o := range waiting {
		job := HandlerPrefix + o.Handler
		if !old(job, o.At) {
			continue
		}
		p := &InFlight{
			Owner: s.session, Locker: s.locks.Node(),
			Run: Run{
				ID: s.newID(job), Job: job, Tick: o.At, Claimed: now, Node: s.cfg.Node, Attempt: 1,
				Trigger: TriggerOneOff,
				OneOff:  o.ID, Payload: o.Payload,
			},
		}
		claim := Claim{Job: job, OneOff: o.ID, Tick: o.At, Due: o.At, InFlight: p, Lease: s.lease, Keep: s.cfg.History}
		if got := s.cfg.Store.Claim(ctx, []Claim{claim})[0]; got.Err != nil || got.Status != ClaimWon {
			continue
		}
		f := Finish{Run: p.Run, Owner: s.session, Lease: s.lease, Keep: s.cfg.History}
		f.Run.Ended, f.Run.Outcome, f.Run.Reason = now, OutcomeSkipped, orphanReason
		if err := s.cfg.Store.Finish(ctx, []Finish{f})[0]; err == nil {
			s.report(f.Run)
		}
	}
	return nil
}
