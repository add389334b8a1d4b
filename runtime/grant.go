package lockrt

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
)

// grant is this process's side of one lock given by the store: until when it is certain, who works under it, and how it
// ended. The leases of several callers may live under it one after another (see localQueues), each with the next pass;
// if it is for reading, at the same time (see batch).
//
// It ends in one of two ways, whichever comes first: release (nobody wants it any more) or lose (deadline, MaxHold,
// Break, or the store's "not mine"). Results of calls that were in flight are applied only while it has not ended, so a
// release always wins over a late renewal.
type grant struct {
	locker *Locker
	key    string
	id     string
	began  time.Time     // when the store gave it, or a little before
	sent   time.Time     // when the store was asked for it
	heard  time.Time     // when this process knew of it
	most   time.Duration // the longest TTL that the store gives; 0: any
	queued bool          // it goes back through the local queue; set before anybody else sees it
	slot   int16         // of a permit

	recalled bool        // it has ended here, and what is left of it is to be given back; guarded by the Locker's mutex
	gone     atomic.Bool // the store is known to have nothing of it any more
	freed    atomic.Bool // the store has taken its release
	unsure   atomic.Bool // the store was asked to release it

	mu       sync.Mutex    // guards what follows; taken before that of a local queue
	kind     kind          // only Downgrade changes it
	fence    Fence         // of the first lease under it; only Downgrade changes it
	asked    time.Duration // the TTL that its leases were acquired with
	ttl      time.Duration // what renewals ask for: that, or what leases that live were extended by
	gave     time.Duration // what the store gave last
	deadline time.Time     // monotonic; margin already taken off
	mayLast  time.Time     // until when the store has it if it has done all that it was asked
	asking   int           // how many calls are under way that may make it last longer
	askedFor time.Duration // the longest of them
	over     error         // nil while the grant lives; ErrNotHeld after release, a *lostError after loss
	passes   int           // how often it was passed on
	anchors  int           // see Lease.Anchor

	// Whoever ends leases under the grant, until their contexts have ended. Add is called with mu while over is nil, or by
	// who sets it, and Wait after that.
	ending sync.WaitGroup

	batch       *batch   // of a reader's grant, else nil
	downgrading bool     // the store was asked to let others read too, and has not answered yet
	owner       *Lease   // whose turn it is; nil between two turns, and while there are members of a batch
	sharers     []*Lease // the leases that end with the owner's (Options.Reentrant)

	// Owned by the renewer and guarded by its mutex.
	renewing   bool
	renewIndex int // in its heap

	expiryIndex int // in the heap of the expirer, which owns it
}

func newGrant(l *Locker, req Request, g Grant, sent, heard time.Time) *grant {
	made := &grant{
		locker: l, key: req.Key, id: req.ID, fence: FenceOf(g.Epoch), began: g.Start, sent: sent, heard: heard, most: g.MaxTTL,
		kind: kind{mode: req.Mode, permits: uint16(req.Permits)}, slot: int16(g.Slot),
	}
	made.asked = made.capped(req.TTL)
	made.ttl = made.asked
	made.gave = made.ttl
	if g.TTL > 0 {
		made.gave = min(g.TTL, made.ttl)
	}
	made.mayLast = made.heard.Add(max(g.TTL, made.gave)) // it may be longer than was asked, at a place kept for somebody else
	made.deadline = g.Start.Add(made.gave - margin(made.gave))
	if req.Mode == Read {
		made.batch = newBatch(g.Start, made.ttl)
	}
	return made
}

// capped is the TTL that the store gives who asks for ttl.
func (g *grant) capped(ttl time.Duration) time.Duration {
	if g.most > 0 {
		return min(ttl, g.most)
	}
	return ttl
}

// begin starts the turn of a new lease. On a grant that has ended it returns the reason.
func (g *grant) begin(ctx context.Context, o Options) (*Lease, error) {
	inParts := o.NoRenew && g.capped(o.TTL) < o.TTL // the store gives less at a time
	hold := o.MaxHold
	if inParts {
		o.NoRenew, o.MaxHold = false, min(cmp.Or(o.MaxHold, o.TTL), o.TTL)
	}
	lease := newLease(ctx, g, o)
	if inParts && hold != o.MaxHold {
		lease.inParts = true
		if hold > 0 {
			lease.latest = lease.since.Add(hold)
		}
	}
	g.mu.Lock()
	if g.over != nil {
		defer g.mu.Unlock()
		lease.cancel(g.over)
		return nil, g.over
	}
	lease.fence.Store(uint64(g.fence) + uint64(g.passes))
	first := true
	if g.batch != nil {
		first, g.batch.begun = !g.batch.begun, true
		g.batch.add(lease)
	} else {
		g.owner = lease
	}
	if o.MaxHold > 0 {
		lease.maxTimer = time.AfterFunc(o.MaxHold, lease.reachMaxHold)
	}
	// Leases that begin together are renewed apart from the first time on: a burst keeps the store from its other clients.
	next := g.deadline.Add(margin(g.gave) - g.gave + pace.Jitter(g.gave/3))
	g.mu.Unlock()
	if first {
		g.locker.renewer.set(g, next, !o.NoRenew)
	}
	return lease, nil
}

// passOn gives the grant to the next caller in the local queue, unless it has to go back to the store: nobody waits,
// the bound on local hand-offs is reached, the grant is anchored, or it is not good any more. from is the lease whose turn
// ends; nil if the grant is between two turns.
func (g *grant) passOn(from *Lease) bool {
	l := g.locker
	g.mu.Lock()
	now := time.Now()
	if !g.queued || g.batch != nil || g.over != nil || g.owner != from || l.closing.Err() != nil ||
		!now.Before(g.deadline) || g.passes >= l.cfg.LocalHandoffs || g.anchors > 0 || now.Sub(g.began) >= l.cfg.LocalHandoffTime ||
		g.mayOutlast(now) {
		g.mu.Unlock()
		return false
	}
	next := l.queues.pass(g, g.kind, g.ttl, g.passes+1 == l.cfg.LocalHandoffs)
	if next == nil {
		g.mu.Unlock()
		return false
	}
	sharers := g.sharers
	g.owner, g.sharers, g.asked = nil, nil, g.ttl
	g.passes++
	g.ending.Add(1)
	g.mu.Unlock()
	// The turns do not overlap: the old contexts end before the next caller knows.
	over := g.finish(from, sharers, ErrNotHeld)
	g.ending.Done()
	next.ready <- call{grant: g}
	l.telemetry.ended(over)
	return true
}

// share adds a lease that ends with the owner's turn.
func (g *grant) share(owner, lease *Lease, o Options) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over != nil {
		return g.over
	}
	if lives := g.owner == owner || g.batch != nil && g.batch.has(owner); !lives {
		return ErrNotHeld
	}
	if o.kind().exclusive() && !g.kind.exclusive() {
		return ErrUpgrade // a Downgrade came in between
	}
	g.sharers = append(g.sharers, lease)
	if o.MaxHold > 0 {
		lease.maxTimer = time.AfterFunc(o.MaxHold, lease.reachMaxHold)
	}
	return nil
}

// holder returns the lease whose holder it is, one of the members of a batch.
func (g *grant) holder() *Lease {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.batch != nil && len(g.batch.members) > 0 {
		return g.batch.members[0]
	}
	return g.owner
}

// keep is for how long the lock stays taken after the release of a lease (Options.MinHold), and whether readers share
// the grant.
func (g *grant) keep(lease *Lease) (keep time.Duration, readers bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	most := lease.minHold
	for _, sharer := range g.sharers {
		if sharer.owner == lease {
			most = max(most, sharer.ownersMinHold())
		}
	}
	if most > 0 {
		keep = max(most-time.Since(lease.since), 0)
	}
	return keep, g.batch != nil
}

// ownersMinHold is the MinHold that the lease which is shared needs to keep that of one that shares it; the grant's mu is
// held.
func (le *Lease) ownersMinHold() time.Duration {
	if le.minHold == 0 {
		return 0
	}
	return le.since.Add(le.minHold).Sub(le.owner.since)
}

// leaveMinHold has the lease that is shared keep the MinHold of one that ends; the grant's mu is held.
func (le *Lease) leaveMinHold() {
	if owner := le.owner; owner != nil {
		owner.minHold = max(owner.minHold, le.ownersMinHold())
	}
}

// keepNothing takes back the MinHold of a lease under which nothing ran, before it ends.
func (g *grant) keepNothing(lease *Lease) {
	g.mu.Lock()
	lease.minHold = 0
	g.mu.Unlock()
}

// heldKind is the kind of the grant, which a Downgrade changes.
func (g *grant) heldKind() kind {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.kind
}

// release is what ends the grant at the store. The caller has ended it here, so that nothing of it changes any more.
func (g *grant) release(keep time.Duration) Release {
	return Release{
		Key: g.key, ID: g.id, Keep: keep, Mode: g.kind.mode, Permits: int(g.kind.permits), Epoch: g.fence.Epoch(),
	}
}

// heldLease is the grant's name for questions to the store.
func (g *grant) heldLease() HeldLease {
	g.mu.Lock()
	defer g.mu.Unlock()
	return HeldLease{Key: g.key, ID: g.id, Mode: g.kind.mode, Permits: int(g.kind.permits), Epoch: g.fence.Epoch()}
}
