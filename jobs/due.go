package jobs

import (
	"context"
	"errors"
	"slices"
	"time"
)

// busyRetry is how soon to ask again for a tick that has to wait for the end of another node's run.
const busyRetry = time.Second

// claimDue claims ticks that are due: of so many jobs that this node's share of them makes one call. What is left is
// due at once again, while those that were claimed begin.
func (l *loop) claimDue(ctx context.Context) {
	now, peers := l.part.clock.now(), l.part.alive()
	most := claimBatch * max(len(peers), 1)
	var due []*entry
	for len(due) < most {
		e, ok := l.heap.TakeDue(now)
		if !ok {
			break
		}
		due = append(due, e)
	}
	more := len(due) == most
	due = l.resolve(ctx, due)
	if len(due) >= burst {
		due = l.share(due, peers, now)
	}
	l.claim(ctx, due)
	l.claiming = more
}

// claim claims what is due of the entries, and schedules all of them anew.
func (l *loop) claim(ctx context.Context, due []*entry) {
	for len(due) > 0 {
		batch := due[:min(len(due), claimBatch)]
		due = due[len(batch):]
		now := l.part.clock.now()
		entries := make([]*entry, 0, len(batch))
		claims := make([]Claim, 0, len(batch))
		for _, e := range batch {
			if ctx.Err() != nil {
				return
			}
			if now.Before(l.tryAt) { // the batch before this had no answer
				e.owing = now
				l.wakeAt(e, l.tryAt)
				continue
			}
			if e.paused || e.dormant {
				entries, claims = append(entries, e), append(claims, l.ask(e, now))
				continue
			}
			p := e.plan
			if !p.holds(e.cursor, now) {
				p = e.next(e.cursor, now)
			}
			if p.due.IsZero() || p.due.After(now) { // nothing is due on the schedule
				if len(e.owed) == 0 || e.owedAt.After(now) {
					l.schedule(e)
					continue
				}
				p = e.nextOwed(now)
			}
			entries, claims = append(entries, e), append(claims, l.claimFor(e, p, now))
		}
		if len(claims) > 0 {
			l.send(entries, claims)
		}
	}
}

// ask is the claim for an entry whose job was paused, or whose ticks are left to other nodes: the question how it stands.
// It asks for something far too early, so that nothing is won by it.
func (l *loop) ask(e *entry, now time.Time) Claim {
	return Claim{
		Job: e.job.Name, Prev: e.cursor, Tick: e.cursor, Due: now.Add(time.Hour), Epoch: e.epoch, Lease: l.s.lease,
		Keep: l.s.cfg.History,
	}
}

// send makes one call and acts on its answers. It does not end with the loop's context: a claim of which nobody waits
// for the answer might have been won.
func (l *loop) send(entries []*entry, claims []Claim) {
	ctx, cancel := context.WithTimeout(l.host.work, storeTimeout)
	defer cancel()
	sent := l.part.clock.local()
	results := l.s.cfg.Store.Claim(ctx, claims)
	var failure error
	for i, c := range results {
		e := entries[i]
		if c.Err != nil {
			if !errors.Is(c.Err, ErrLocked) {
				failure = c.Err
			}
			e.unsure, e.owing = &claims[i], l.part.clock.now()
			continue
		}
		e.unsure = nil
		if c.Status != ClaimStale { // else it may be what another node has made of an empty store, see doubt
			l.heardState(e, c.Cursor, c.Owed)
		}
		l.s.telemetry.claimed(c.Status)
		// others may have claimed later ticks since, or will before this one has its lock
		if l.part.clock.local().Sub(sent) > slowStore {
			e.owing = l.part.clock.now()
			if claims[i].InFlight != nil && e.job.Overlap == OverlapSkip {
				claims[i].InFlight.delay()
			}
		}
		if c.Status == ClaimWon {
			l.won(e, claims[i])
		}
	}
	away := l.part.heardClaims(claiming, claims, results)
	some := !away || slices.ContainsFunc(results, func(c Claimed) bool { return c.Err == nil || errors.Is(c.Err, ErrLocked) })
	if failure == nil || !some {
		l.answered(failure)
	}
	for i, c := range results {
		switch e := entries[i]; {
		case c.Err == nil:
			e.backoff = 0
			l.part.clock.observe(c.Now, sent)
			l.reschedule(e, claims[i], c)
		case some: // a part of the store is away, as one server of a cluster, or a job is locked: only its jobs wait
			most := maxBackoff
			if errors.Is(c.Err, ErrLocked) {
				most = lockedRetry
			}
			e.backoff = min(max(2*e.backoff, minBackoff), most)
			l.wakeAt(e, l.part.clock.now().Add(minBackoff)) // to find out whether it was won
		default: // the loop has a pause
			e.backoff = 0
			l.wakeAt(e, l.tryAt)
		}
	}
}

// heardCursor takes in a cursor from the store. Cursors only grow: one that is lower than what is known, or gone, tells
// of lost data. It reports whether the store is to be believed: what this node knows is to be put back otherwise, what
// is owed too. A node that was the first to tell an empty store of the job knows nothing better than the cursor of others.
func (l *loop) heardCursor(e *entry, cursor time.Time) bool {
	if cursor.Before(e.cursor) {
		l.part.noticeLoss("the cursor of job " + e.job.Name + " is older than the one that this node knows")
		if cursor.IsZero() || !e.cursor.Equal(e.madeUp) {
			return false
		}
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	e.cursor = cursor
	return true
}

// heardState takes in a cursor with what is owed by it. What has been decided stays decided: a store that owes a tick
// which this node knows to have been taken has lost data, and another node that knew less has registered the job again.
func (l *loop) heardState(e *entry, cursor time.Time, owed []Span) {
	if !cursor.Before(e.cursor) && e.forgets(owed) {
		l.part.noticeLoss("it owes ticks of job " + e.job.Name + " that this node knows to have begun")
		return
	}
	if !l.heardCursor(e, cursor) {
		return
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if e.owed, e.owedOK = owed, true; len(owed) > 0 {
		e.owing = l.part.clock.now()
	}
}

// forgets reports whether ticks are owed that this node knows to be decided. What comes to be owed is after the cursor.
func (e *entry) forgets(owed []Span) bool {
	return e.owedOK && slices.ContainsFunc(owed, func(s Span) bool {
		return s.From.Before(e.cursor) && !slices.ContainsFunc(e.owed, func(known Span) bool {
			return known.To.Equal(s.To) && !s.From.Before(known.From)
		})
	})
}

// reschedule decides when to look at e again after an answer.
func (l *loop) reschedule(e *entry, asked Claim, c Claimed) {
	if e.futile++; !c.isFutile(&asked) {
		e.futile = 0
	}
	if e.futile > 1 { // once the store may have learned or lost something
		e.rests = l.part.clock.now().Add(min(minBackoff<<min(e.futile, 10), maxBackoff))
	}
	wasPaused := e.paused
	e.paused, e.busy = c.Status == ClaimPaused, c.Status == ClaimBusy
	switch {
	case c.Status == ClaimStale:
		l.doubt(e)
	case e.dormant:
		l.schedule(e)
	case c.Status == ClaimUnknown:
		l.unknown = append(l.unknown, e) // to be offered again, with the cursor that this node knows
	case e.busy:
		// The end of a run of this node wakes it at once; those of others are looked for.
		e.owedAt = l.part.clock.now().Add(busyRetry)
		l.schedule(e)
	case e.paused:
		// Until it is resumed each tick is asked for, so that no node has to hear of it.
		next := e.after(c.Now)
		if !next.IsZero() {
			next = next.Add(e.jitter(next))
		}
		l.wakeAt(e, next)
	case c.Status == ClaimEarly && !wasPaused:
		// By whatever clock this node thought it due: wait out the difference. It may have thought of later ticks only
		// for that reason.
		due := asked.Due
		if !asked.Owed {
			e.plan = e.next(e.cursor, c.Now)
			due = e.plan.due
		}
		l.wakeAt(e, latest(l.part.clock.now().Add(max(due.Sub(c.Now), time.Millisecond)), e.rests))
	default:
		l.schedule(e)
	}
}

// isFutile reports whether an answer has the same asked for at once: it does not say what has become of it.
func (c *Claimed) isFutile(asked *Claim) bool {
	switch c.Status {
	case ClaimEarly:
		return !asked.Due.After(c.Now)
	case ClaimWon, ClaimTaken:
		if asked.Owed {
			return len(c.Owed) > 0 && c.Owed[0].From.Equal(asked.Prev)
		}
		return c.Cursor.Equal(asked.Prev)
	}
	return false
}

// doubt leaves e alone until it is certain that the store has not lost data: with a pause of the job, for example, that
// another node knows and is about to put back. Until then this node believes what it knows of the job.
func (l *loop) doubt(e *entry) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.dormant = slices.DeleteFunc(l.dormant, func(other *entry) bool { return other == e })
	l.doubtful, l.certain = append(l.doubtful, e), l.part.answers+2
}
