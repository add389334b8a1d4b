package jobs

import (
	"context"
	"slices"
	"time"
)

const (
	// crowd is the number of jobs due together from which on the nodes share them out.
	crowd = 64
	// deferral is how long a node then leaves the others' shares to them. It only saves work: who claims a tick is
	// decided by the store, and a node that does not do its share is late by this, not missed.
	deferral = 40 * time.Millisecond
)

// claimDue claims the ticks that are due, in as few calls as there are batches.
func (l *loop) claimDue(ctx context.Context) {
	now := l.s.clock.now()
	due := l.resolve(ctx, l.heap.takeDue(now))
	if len(due) >= crowd {
		due = l.share(due, now)
	}
	l.claim(ctx, due)
}

// share returns the part of a crowd that falls to this node, and defers the rest.
func (l *loop) share(due []*entry, now time.Time) []*entry {
	l.s.mu.Lock()
	peers := l.s.peers
	l.s.mu.Unlock()
	me := slices.Index(peers, l.s.session)
	if me < 0 || len(peers) == 1 {
		return due
	}
	var mine []*entry
	for _, e := range due {
		if e.hash%uint64(len(peers)) == uint64(me) {
			mine = append(mine, e)
		} else {
			l.deferred = append(l.deferred, e)
		}
	}
	l.later = now.Add(deferral)
	return mine
}

// claimDeferred looks after the shares of the others: mostly they have done them, and it is enough to hear so.
func (l *loop) claimDeferred(ctx context.Context) {
	if len(l.deferred) == 0 || l.s.clock.now().Before(l.later) {
		return
	}
	left := l.deferred
	l.deferred = nil
	for len(left) > 0 {
		batch := left[:min(len(left), 4*claimBatch)]
		left = left[len(batch):]
		callCtx, cancel := context.WithTimeout(ctx, storeTimeout)
		marks, err := l.s.cfg.Store.Marks(callCtx, names(batch))
		cancel()
		if err != nil { // the claims will tell what is wrong
			l.claim(ctx, batch)
			continue
		}
		var open []*entry
		for i, e := range batch {
			if marks[i].Equal(e.mark) {
				open = append(open, e)
				continue
			}
			if !marks[i].IsZero() {
				l.s.setMark(e, marks[i])
			}
			l.schedule(e)
		}
		l.claim(ctx, open)
	}
}

// claim claims what is due of the entries, and schedules all of them anew.
func (l *loop) claim(ctx context.Context, due []*entry) {
	for len(due) > 0 {
		batch := due[:min(len(due), claimBatch)]
		due = due[len(batch):]
		now := l.s.clock.now()
		entries := make([]*entry, 0, len(batch))
		claims := make([]Claim, 0, len(batch))
		for _, e := range batch {
			if ctx.Err() != nil {
				return
			}
			if now.Before(l.tryAt) { // the batch before this had no answer
				l.wakeAt(e, l.tryAt)
				continue
			}
			if e.paused {
				entries, claims = append(entries, e), append(claims, l.ask(e, now))
				continue
			}
			p := e.plan
			if !p.holds(e.mark, now) {
				p = e.next(e.mark, now)
			}
			if p.due.IsZero() || p.due.After(now) {
				e.plan = p
				l.wakeAt(e, p.due)
				continue
			}
			entries, claims = append(entries, e), append(claims, l.s.claim(e, p, now))
		}
		if len(claims) > 0 {
			l.send(entries, claims)
		}
	}
}

// ask is the claim for an entry whose job was paused: the question whether it still is. It asks for something far too
// early, so that nothing is won by it.
func (l *loop) ask(e *entry, now time.Time) Claim {
	return Claim{
		Job: e.job.Name, Prev: e.mark, Tick: e.mark, Due: now.Add(time.Hour), Lease: l.s.lease, Keep: l.s.cfg.History,
	}
}

// resolve finds out about claims of which the answer was lost. To repeat them would be wrong: meanwhile the tick may be
// too late for its policy. A claim that reaches the store after this is found by reconcile.
func (l *loop) resolve(ctx context.Context, due []*entry) (open []*entry) {
	var unsure []*entry
	for _, e := range due {
		if e.unsure != nil {
			unsure = append(unsure, e)
		} else {
			open = append(open, e)
		}
	}
	for len(unsure) > 0 && ctx.Err() == nil {
		batch := unsure[:min(len(unsure), claimBatch)]
		callCtx, cancel := context.WithTimeout(ctx, storeTimeout)
		view, err := l.s.cfg.Store.Look(callCtx, names(batch))
		cancel()
		if ctx.Err() != nil {
			return open
		}
		if l.answered(err); err != nil {
			for _, e := range unsure {
				l.wakeAt(e, l.tryAt)
			}
			return open
		}
		for i, e := range batch {
			asked := e.unsure
			e.unsure = nil
			if mark := view.Jobs[i].Mark; !mark.IsZero() {
				l.s.setMark(e, mark)
			}
			for _, p := range view.Jobs[i].Claims {
				if asked.Pending != nil && p.Run.ID == asked.Pending.Run.ID && !l.s.isLive(p.Run.ID) {
					l.s.won(l.host, e, *asked)
				}
			}
			l.schedule(e)
		}
		unsure = unsure[len(batch):]
	}
	return open
}

// send makes one call and acts on its answers. It does not end with the loop's context: a claim of which nobody waits
// for the answer might have been won.
func (l *loop) send(entries []*entry, claims []Claim) {
	ctx, cancel := context.WithTimeout(l.host.work, storeTimeout)
	defer cancel()
	sent := l.s.clock.local()
	results := l.s.cfg.Store.Claim(ctx, claims)
	var failure error
	for i, c := range results {
		e := entries[i]
		if c.Err != nil {
			failure = c.Err
			e.unsure = &claims[i]
			continue
		}
		e.unsure = nil
		l.s.setMark(e, c.Mark)
		l.s.telemetry.claimed(c.Status)
		if c.Status == ClaimWon {
			l.s.won(l.host, e, claims[i])
		}
	}
	l.answered(failure)
	for i, c := range results {
		if e := entries[i]; c.Err == nil {
			l.s.clock.observe(c.Now, sent)
			l.reschedule(e, claims[i], c)
		} else {
			l.wakeAt(e, l.tryAt)
		}
	}
}

// reschedule decides when to look at e again after an answer.
func (l *loop) reschedule(e *entry, asked Claim, c Claimed) {
	wasPaused := e.paused
	e.paused = c.Status == ClaimPaused
	switch {
	case e.paused:
		// Until it is resumed each tick is asked for, so that no node has to hear of it.
		next := e.after(c.Now)
		if !next.IsZero() {
			next = next.Add(e.jitter(next))
		}
		l.wakeAt(e, next)
	case c.Status == ClaimEarly && !wasPaused:
		// By whatever clock this node thought it due: wait out the difference.
		l.wakeAt(e, l.s.clock.now().Add(max(asked.Due.Sub(c.Now), time.Millisecond)))
	default:
		l.schedule(e)
	}
}

// claimOnce claims the one-off jobs that are due.
func (l *loop) claimOnce(ctx context.Context) {
	now := l.s.clock.now()
	n, _ := slices.BinarySearchFunc(l.soon, now.Add(time.Nanosecond), func(o Once, t time.Time) int { return o.At.Compare(t) })
	due := l.soon[:n]
	l.soon = l.soon[n:]
	for len(due) > 0 && ctx.Err() == nil {
		batch := due[:min(len(due), claimBatch)]
		due = due[len(batch):]
		l.sendOnce(batch, now)
	}
}

// sendOnce makes one call. One-off jobs of which the answer is lost come back with the next beat, or are found in flight.
func (l *loop) sendOnce(batch []Once, now time.Time) {
	var entries []*entry
	var claims []Claim
	l.s.mu.Lock()
	for _, o := range batch {
		e := l.s.entries[handlerPrefix+o.Handler]
		if e == nil {
			continue // it waits for a node that has the handler
		}
		p := l.s.newPending(e, o.At, now, TriggerOnce)
		p.Run.Once, p.Run.Payload = o.ID, o.Payload
		entries = append(entries, e)
		claims = append(claims, Claim{
			Job: e.job.Name, Once: o.ID, Tick: o.At, Due: o.At, Pending: p, Lease: l.s.lease, Keep: l.s.cfg.History,
		})
	}
	l.s.mu.Unlock()
	if len(claims) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(l.host.work, storeTimeout)
	defer cancel()
	var failure error
	for i, c := range l.s.cfg.Store.Claim(ctx, claims) {
		switch {
		case c.Err != nil:
			failure = c.Err
		case c.Status == ClaimWon:
			l.s.won(l.host, entries[i], claims[i])
		}
	}
	l.s.heard(failure)
}
