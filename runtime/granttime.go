package lockrt

import "time"

// This file is how long a grant lasts, here and at the store, and what renewals ask for.

// extend moves the deadline after the store acknowledged ttl, counted from sent. It never moves it back: the store
// does not shorten a lease either.
func (g *grant) extend(sent time.Time, ttl time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d := sent.Add(ttl - margin(ttl)); g.over == nil && d.After(g.deadline) {
		g.deadline, g.gave = d, ttl
	}
}

// renewal begins a renewal and returns what it asks for.
func (g *grant) renewal(sent time.Time) Renewal {
	g.mu.Lock()
	defer g.mu.Unlock()
	var limit time.Time
	switch {
	case g.batch != nil:
		limit = g.batch.limit()
	case g.owner != nil:
		limit = g.owner.limit.at()
	}
	ttl := g.ttl
	if !limit.IsZero() {
		// A TTL beyond the end of MaxHold would keep the lock from others if it is not released.
		ttl = min(g.ttl, max(min(limit.Sub(sent), maxTTL)+margin(g.ttl), minTTL))
	}
	return g.renewalLocked(sent, ttl)
}

// renewalOf begins a renewal for ttl.
func (g *grant) renewalOf(sent time.Time, ttl time.Duration) Renewal {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.renewalLocked(sent, ttl)
}

// renewalLocked begins a call for ttl, of which answered has to hear.
func (g *grant) renewalLocked(sent time.Time, ttl time.Duration) Renewal {
	g.lastLocked(sent, ttl)
	g.asking, g.askedFor = g.asking+1, max(g.askedFor, ttl)
	return Renewal{
		Key: g.key, ID: g.id, TTL: ttl, Mode: g.kind.mode, Permits: int(g.kind.permits), Epoch: g.fence.Epoch(),
	}
}

// answered ends a call for ttl, be it without an answer. The store counts from when it does what it was asked, which may
// have been just now.
func (g *grant) answered(ttl time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lastLocked(time.Now(), ttl)
	if g.asking--; g.asking == 0 {
		g.askedFor = 0
	}
}

// lastLocked notes that the store may have the lock for ttl from a moment on.
func (g *grant) lastLocked(from time.Time, ttl time.Duration) {
	if end := from.Add(ttl); end.After(g.mayLast) {
		g.mayLast = end
	}
}

// storeSlack is for the time from which a session counts a lease, which is a little later than that of its Locker.
const storeSlack = 100 * time.Millisecond

// storeEnd is when the lease is over at the store, too, at the latest: each renewal counts as done, also one whose answer was
// lost, and one under way as done just now.
func (g *grant) storeEnd() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	end := g.deadline.Add(margin(g.gave))
	if g.mayLast.After(end) {
		end = g.mayLast
	}
	if under := time.Now().Add(g.askedFor); g.asking > 0 && under.After(end) {
		end = under
	}
	return end.Add(storeSlack)
}

// given is what the store gave last, and until when that is certain.
func (g *grant) given() (gave time.Duration, deadline time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.gave, g.deadline
}

func (g *grant) state() (ttl time.Duration, deadline time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ttl, g.deadline
}
