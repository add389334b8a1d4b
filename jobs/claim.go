package jobs

import "time"

// maxWaiting is how many runs of one job a node has in flight at a time, at most: what a job that is slower than its
// schedule piles up under OverlapQueue or OverlapAllow.
const maxWaiting = 100

// claimFor makes the request for a plan.
func (l *loop) claimFor(e *entry, p plan, now time.Time) Claim {
	s := l.s
	c := Claim{Job: e.job.Name, Prev: e.cursor, Tick: p.tick, Due: p.due, Epoch: e.epoch, Lease: s.lease,
		Keep: s.cfg.History}
	c.Owe = p.owe
	if p.owed {
		c.Owed, c.Done, c.Prev = true, p.done, p.prev
	}
	skipped, run := p.skipped, p.run
	if run && s.live.countOf(e.job.Name) >= max(maxWaiting, e.job.MisfireCap) {
		run = false
		if skipped == nil {
			skipped = &gap{first: p.tick, last: p.tick}
		}
		skipped.last, skipped.why = p.tick, "too many runs of the job are in flight on this node"
	}
	if run {
		c.InFlight = l.firstAttempt(e, p.tick, now, p.trigger)
		c.InFlight.Backlog = p.owed
		c.InFlight.Patient = p.owed || len(e.owed) > 0 || now.Sub(e.owing) < e.job.Grace ||
			now.Before(l.patientUntil(e)) ||
			now.Sub(p.due) > time.Second // others that are late as well may have the lock
		if c.InFlight.Patient {
			c.InFlight.HeldUp = latest(e.owing, l.delayedAt(e)).Truncate(time.Microsecond)
		}
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

// firstAttempt is a first attempt at a tick.
func (l *loop) firstAttempt(e *entry, tick, now time.Time, trigger string) *InFlight {
	s := l.s
	return &InFlight{
		Run: Run{
			ID: s.newID(e.job.Name), Job: e.job.Name, Tick: tick, Claimed: now, Node: s.cfg.Node,
			Attempt: 1, Trigger: trigger,
		},
		Owner: s.session, Locker: s.locks.Node(), Program: s.cfg.Program,
	}
}

// won starts what was claimed.
func (l *loop) won(e *entry, c Claim) {
	s := l.s
	if c.Skipped != nil {
		s.telemetry.missed(e.job.Name, c.Missed)
		s.live.goroutines.Go(func() { s.report(*c.Skipped) })
	}
	if c.InFlight != nil {
		s.launch(l.host, e, c.InFlight)
	}
}

// patientUntil is until when ticks of the job wait for the lock, which a run that was held up may have.
func (l *loop) patientUntil(e *entry) time.Time { return l.delayedAt(e).Add(e.job.Grace) }

// delayedAt is when a run of the job was held up last, as far as this node knows.
func (l *loop) delayedAt(e *entry) time.Time {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	return e.delayed
}
