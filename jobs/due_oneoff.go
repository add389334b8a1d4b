package jobs

import (
	"context"
	"slices"
	"time"
)

// claimOneOffs claims the one-off jobs that are due.
func (l *loop) claimOneOffs(ctx context.Context) {
	now := l.part.clock.now()
	n, _ := slices.BinarySearchFunc(l.soon, now.Add(time.Nanosecond),
		func(o OneOff, t time.Time) int { return o.At.Compare(t) })
	due := l.soon[:n]
	l.soon = l.soon[n:]
	for len(due) > 0 && ctx.Err() == nil {
		batch := due[:min(len(due), claimBatch)]
		due = due[len(batch):]
		l.sendOneOffs(batch, now)
	}
}

// sendOneOffs makes one call. One-off jobs of which the answer is lost come back with the next heartbeat, or are found
// in flight.
func (l *loop) sendOneOffs(batch []OneOff, now time.Time) {
	var entries []*entry
	var claims []Claim
	l.s.mu.Lock()
	for _, o := range batch {
		e := l.s.entries[HandlerPrefix+o.Handler]
		if e == nil || !e.isOurs() {
			continue // it waits for a node that has the handler
		}
		p := l.firstAttempt(e, o.At, now, TriggerOneOff)
		p.Run.OneOff, p.Run.Payload = o.ID, o.Payload
		entries = append(entries, e)
		claims = append(claims, Claim{
			Job: e.job.Name, OneOff: o.ID, Tick: o.At, Due: o.At, InFlight: p, Lease: l.s.lease, Keep: l.s.cfg.History,
		})
	}
	l.s.mu.Unlock()
	if len(claims) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(l.host.work, storeTimeout)
	defer cancel()
	results := l.s.cfg.Store.Claim(ctx, claims)
	for i, c := range results {
		if c.Err == nil && c.Status == ClaimWon {
			l.s.memory.noteOver(claims[i].OneOff)
			l.won(entries[i], claims[i])
		}
	}
	l.part.heardClaims(claimingOneOffs, claims, results)
}
