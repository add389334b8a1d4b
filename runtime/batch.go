package lockrt

import (
	"slices"
	"sync/atomic"
	"time"
)

// batch are the readers of this process who share one grant: the store knows one holder, which one call renews. The
// last to leave releases it.
//
// A caller has to be sure of the grant before its lease begins, since the last reader may leave meanwhile. So users
// counts those on their way too, and once it is 0 nobody joins any more.
type batch struct {
	began time.Time     // for how long it is open counts from here
	ttl   time.Duration // of the grant at that time

	users  atomic.Int32 // leases that live, and callers who are about to begin one
	closed atomic.Bool  // newcomers ask the store: somebody else waits, it is over, or it is not renewed

	// Guarded by the grant's mutex.
	members  []*Lease // those that live; at the end of the grant those that lived then
	begun    bool     // somebody has begun
	returned bool     // somebody takes back what a lost grant may have left at the store
}

func newBatch(began time.Time, ttl time.Duration) *batch {
	b := &batch{began: began, ttl: ttl}
	b.users.Store(1) // the one who asked for it
	return b
}

// join reports whether a reader who wants ttl may begin a lease under the batch. It then has to, or to leave.
//
// A longer TTL than that of the batch would end too early. A shorter one does not matter: if this process dies, the
// lock is not free before the batch is over.
func (b *batch) join(ttl, open time.Duration) bool {
	if b.closed.Load() || ttl > b.ttl || time.Since(b.began) >= open {
		return false
	}
	for {
		n := b.users.Load()
		if n == 0 {
			return false
		}
		if b.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// leave ends what join began. It reports true to the last, who has to end the grant.
func (b *batch) leave() bool { return b.users.Add(-1) == 0 }

// add makes a lease a member. The grant's mutex is held.
func (b *batch) add(lease *Lease) {
	lease.index = int32(len(b.members))
	b.members = append(b.members, lease)
}

// has reports whether a lease is a member. The grant's mutex is held.
func (b *batch) has(lease *Lease) bool {
	return int(lease.index) < len(b.members) && b.members[lease.index] == lease
}

// remove reports whether a lease was a member until then. The grant's mutex is held.
func (b *batch) remove(lease *Lease) bool {
	if !b.has(lease) {
		return false
	}
	last := len(b.members) - 1
	b.members[lease.index] = b.members[last]
	b.members[lease.index].index = lease.index
	b.members[last] = nil
	b.members = b.members[:last]
	return true
}

// limit is when the last member reaches its MaxHold; zero: not all have one. The grant's mutex is held.
func (b *batch) limit() (last time.Time) {
	for _, lease := range b.members {
		at := lease.limit.at()
		if at.IsZero() {
			return time.Time{}
		}
		if at.After(last) {
			last = at
		}
	}
	return last
}

// leases is how many leases have ended with the grant.
func (g *grant) leases() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.batch == nil {
		return 1
	}
	return max(len(g.batch.members), 1)
}

// readers is the batch of a reader's grant, nil of others.
func (g *grant) readers() *batch {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.batch
}

// leaveBatch ends one lease of a batch, and those that share it (Options.Reentrant). Of one that lived until then it
// reports whether no other is left: then the grant has ended with it if it was lost, and otherwise the caller has to end
// it. Telemetry is to hear of those in over when that is done.
func (g *grant) leaveBatch(lease *Lease, why error) (over []*Lease, lived, last bool) {
	g.mu.Lock()
	if g.over != nil || g.batch == nil || !g.batch.remove(lease) {
		g.mu.Unlock()
		return nil, false, false
	}
	if last = g.batch.leave(); last && why != ErrNotHeld {
		g.over = why // so that a Release that comes now sees it
	}
	var sharers []*Lease
	g.sharers = slices.DeleteFunc(g.sharers, func(sharer *Lease) bool {
		shares := sharer.owner == lease
		if shares {
			sharers = append(sharers, sharer)
		}
		return shares
	})
	g.without(append(sharers, lease))
	if len(g.batch.members) == 0 {
		g.owner = lease // Close finds it while it is being released
	}
	g.ending.Add(1)
	g.mu.Unlock()
	over = g.finish(lease, sharers, why)
	g.ending.Done()
	return over, true, last
}

// returns reports whether the caller is the one who gives back at the store what is left of a batch: the last of its readers,
// or of one that is lost, or that somebody has failed to give back, whoever comes first.
func (g *grant) returns(last bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over == nil && !last || g.batch == nil || g.batch.returned {
		return false
	}
	g.batch.returned = true
	return true
}

// notReturned lets another one try.
func (g *grant) notReturned() {
	g.mu.Lock()
	g.batch.returned = false
	g.mu.Unlock()
}
