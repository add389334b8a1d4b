package jobs

import (
	"context"
	"log/slog"
	"time"
)

// maxWaiting is how many runs of one job a node has in flight at a time, at most: what a job that is slower than its
// schedule piles up under OverlapQueue or OverlapAllow.
const maxWaiting = 100

// claim makes the request for a plan.
func (s *Scheduler) claim(e *entry, p plan, now time.Time) Claim {
	c := Claim{Job: e.job.Name, Prev: e.mark, Tick: p.tick, Due: p.due, Epoch: e.epoch, Lease: s.lease,
		Keep: s.cfg.History}
	c.Owe = p.owe
	if p.owed {
		c.Owed, c.Done, c.Prev = true, p.done, p.prev
	}
	skipped, run := p.skipped, p.run
	if run && s.liveRuns(e.job.Name) >= max(maxWaiting, e.job.MisfireCap) {
		run = false
		if skipped == nil {
			skipped = &gap{first: p.tick, last: p.tick}
		}
		skipped.last, skipped.why = p.tick, "too many runs of the job are in flight on this node"
	}
	if run {
		c.Pending = s.newPending(e, p.tick, now, p.trigger)
		c.Pending.Backlog = p.owed
		c.Pending.Patient = p.owed || len(e.owed) > 0 || now.Sub(e.owing) < e.job.Grace ||
			now.Before(s.patientUntil(e)) ||
			now.Sub(p.due) > time.Second // others that are late as well may have the lock
	}
	if skipped != nil {
		c.Missed = e.count(skipped)
		c.Skipped = &Run{
			ID: s.newID(e.job.Name), Job: e.job.Name, Tick: skipped.last, Claimed: now, Ended: now, Node: s.cfg.Node,
			Outcome: OutcomeSkipped, Reason: skipped.why, Attempt: 1, Trigger: p.trigger,
		}
		if c.Missed > 1 {
			c.Skipped.Ticks, c.Skipped.First = c.Missed, skipped.first
		}
	}
	return c
}

// newPending is a first attempt at a tick.
func (s *Scheduler) newPending(e *entry, tick, now time.Time, trigger string) *Pending {
	return &Pending{
		Run: Run{
			ID: s.newID(e.job.Name), Job: e.job.Name, Tick: tick, Claimed: now, Node: s.cfg.Node,
			Attempt: 1, Trigger: trigger,
		},
		Owner: s.session, Locker: s.locks.Node(), Program: s.cfg.Program,
	}
}

// won starts what was claimed.
func (s *Scheduler) won(h *host, e *entry, c Claim) {
	if c.Skipped != nil {
		s.telemetry.missed(e.job.Name, c.Missed)
		s.runs.Go(func() { s.report(*c.Skipped) })
	}
	if c.Pending != nil {
		s.launch(h, e, c.Pending)
	}
}

// report tells the log and OnRun of a finished run.
func (s *Scheduler) report(r Run) {
	s.telemetry.finished(r)
	level := slog.LevelInfo
	switch {
	case r.Failed():
		level = slog.LevelWarn
	case r.Outcome == OutcomeOK:
		level = slog.LevelDebug
	}
	ctx := context.Background()
	if s.cfg.Logger.Enabled(ctx, level) {
		s.cfg.Logger.LogAttrs(ctx, level, "job run finished", attrsOf(r)...)
	}
	// In a goroutine of its own, which is waited for: runtime.Goexit ends that one only.
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "OnRun panicked",
					slog.String("job", r.Job), slog.String("panic", panicText(p)))
			}
		}()
		s.cfg.OnRun(r)
	}()
	<-done
}

func attrsOf(r Run) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("job", r.Job), slog.Time("tick", r.Tick), slog.String("outcome", string(r.Outcome)),
		slog.String("trigger", r.Trigger), slog.Int("attempt", r.Attempt), slog.String("run", r.ID),
		slog.String("node", r.Node), slog.Uint64("fence", uint64(r.Fence)),
	}
	for _, a := range []struct{ key, value string }{{"reason", r.Reason}, {"error", r.Error}, {"author", r.Author}} {
		if a.value != "" {
			attrs = append(attrs, slog.String(a.key, a.value))
		}
	}
	return attrs
}
