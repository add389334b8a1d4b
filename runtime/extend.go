package lockrt

import (
	"cmp"
	"slices"
	"time"
)

// extension begins an Extend of a lease by d. It reports false if it is not the turn of the lease any more: what the store
// is asked for would be somebody else's.
func (g *grant) extension(le *Lease, sent time.Time, d time.Duration) (_ Renewal, lives bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over != nil || !g.isTurnOf(le) {
		return Renewal{}, false
	}
	return g.renewalLocked(sent, d), true
}

// extendBy follows the store's answer to an extension. The renewals that come after it ask for as much while the lease
// lives.
func (g *grant) extendBy(le *Lease, sent time.Time, d time.Duration) {
	g.extend(sent, d)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over == nil && g.isTurnOf(le) {
		le.extended = max(le.extended, d)
		g.ttl = max(g.ttl, d)
		if le.inParts {
			g.endLater(cmp.Or(le.owner, le), sent.Add(d))
		}
	}
}

// endLater moves the end of a lease in parts, and of those that share it. The mutex is held.
func (g *grant) endLater(owner *Lease, end time.Time) {
	if !end.After(owner.limit.at()) {
		return
	}
	owner.limit.set(end)
	owner.maxTimer.Reset(time.Until(end))
	for _, le := range g.sharers {
		if le.owner == owner {
			le.limit.set(earlier(le.latest, end))
		}
	}
}

// isTurnOf reports whether a lease lives under the grant. The mutex is held.
func (g *grant) isTurnOf(le *Lease) bool {
	if le.owner != nil {
		return slices.Contains(g.sharers, le)
	}
	return g.owner == le || g.batch != nil && g.batch.has(le)
}

// without lets further renewals ask for what the leases want that are left, when others have gone. The mutex is held.
func (g *grant) without(gone []*Lease) {
	if !slices.ContainsFunc(gone, func(le *Lease) bool { return le.extended > g.asked }) {
		return
	}
	g.ttl = g.asked
	left := func(le *Lease) { g.ttl = max(g.ttl, le.extended) }
	if g.owner != nil {
		left(g.owner)
	}
	for _, le := range g.sharers {
		left(le)
	}
	if g.batch != nil {
		for _, le := range g.batch.members {
			left(le)
		}
	}
}

// mayOutlast reports whether the store may have the lock for longer than a renewal asks for now: an Extend is under way,
// had no answer, or was that of a lease which has ended. The mutex is held.
func (g *grant) mayOutlast(now time.Time) bool { return g.mayLast.After(now.Add(g.ttl)) }
