package runtime

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// grant is this process's side of one lock given by the store: until when it is certain, and how it ended.
//
// It ends in one of two ways, whichever comes first: release (the caller is done) or lose (deadline, MaxHold, Break,
// or the store's "not mine"). Results of calls that were in flight are applied only while it has not ended, so a
// release always wins over a late renewal.
type grant struct {
	locker *Locker
	key    string
	id     string
	fence  Fence

	mu       sync.Mutex // guards what follows
	ttl      time.Duration
	deadline time.Time // monotonic; margin already taken off
	timer    *time.Timer
	maxTimer *time.Timer
	over     error    // nil while the grant lives; ErrNotHeld after release, a *lostError after loss
	leases   []*Lease // the leases that end with the grant: the first owns it, others share it (Options.Reentrant)
	owner    *Lease   // the first of them, also after the end

	freed bool // the store has acknowledged the release; guarded by owner.releasing

	// Owned by the renewer and guarded by its mutex.
	due   time.Time
	index int // position in the renewer's heap, -1 outside
}

// newGrant wraps what the store granted. Its clocks start with start.
func newGrant(l *Locker, req Request, g Grant) *grant {
	return &grant{
		locker: l, key: req.Key, id: req.ID, fence: FenceOf(g.Epoch),
		ttl: req.TTL, deadline: g.Start.Add(req.TTL - margin(req.TTL)), index: -1,
	}
}

// start lets the grant end by itself at its deadline, and after maxHold if that is not 0.
func (g *grant) start(maxHold time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.timer = time.AfterFunc(time.Until(g.deadline), g.expire)
	if maxHold > 0 {
		g.maxTimer = time.AfterFunc(maxHold, func() { g.lose(fmt.Errorf("it was held for MaxHold (%s)", maxHold)) })
	}
}

var errDeadline = errors.New("its deadline passed without a renewal")

// expire runs when the timer fires. Renewals move the deadline without touching the timer, so that renewing a hundred
// thousand leases costs no timer operations; the timer catches up here.
func (g *grant) expire() {
	g.mu.Lock()
	left := time.Until(g.deadline)
	if g.over == nil && left > 0 {
		g.timer.Reset(left)
		g.mu.Unlock()
		return
	}
	g.mu.Unlock()
	g.lose(errDeadline)
}

// extend moves the deadline after the store acknowledged ttl, counted from sent. It never moves it back: the store
// does not shorten a lease either.
func (g *grant) extend(sent time.Time, ttl time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d := sent.Add(ttl - margin(ttl)); g.over == nil && d.After(g.deadline) {
		g.deadline = d
	}
}

// lose ends the grant as lost, unless it has ended already.
func (g *grant) lose(reason error) {
	if g.end(&lostError{key: g.key, reason: reason}) {
		g.locker.leaseLost(g, reason)
	}
}

// end reports whether this call ended the grant.
func (g *grant) end(why error) bool {
	g.mu.Lock()
	if g.over != nil {
		g.mu.Unlock()
		return false
	}
	g.over = why
	if g.timer != nil {
		g.timer.Stop()
	}
	if g.maxTimer != nil {
		g.maxTimer.Stop()
	}
	leases := g.leases
	g.leases = nil
	g.mu.Unlock()
	for _, lease := range leases {
		lease.finish(why)
	}
	g.locker.forget(g)
	return true
}

// join adds a lease that ends with the grant. On a grant that has ended it returns the reason.
func (g *grant) join(lease *Lease) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over == nil {
		g.leases = append(g.leases, lease)
		if g.owner == nil {
			g.owner = lease
		}
	}
	return g.over
}

// owned returns the lease that releases the grant.
func (g *grant) owned() *Lease {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.owner
}

// leave ends one of several leases that share the grant.
func (g *grant) leave(lease *Lease) {
	g.mu.Lock()
	if i := slices.Index(g.leases, lease); i >= 0 {
		g.leases = slices.Delete(g.leases, i, i+1)
	}
	g.mu.Unlock()
	lease.finish(ErrNotHeld)
}

// err is nil while the grant lives. It looks at the clock too: between the deadline and the run of its timer the grant
// is over already.
func (g *grant) err() error {
	g.mu.Lock()
	over, passed := g.over, !time.Now().Before(g.deadline)
	g.mu.Unlock()
	if over != nil || !passed {
		return over
	}
	g.lose(errDeadline)
	return g.ended()
}

// ended is nil while the grant has not been ended, whatever the clock says.
func (g *grant) ended() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over
}

func (g *grant) state() (ttl time.Duration, deadline time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ttl, g.deadline
}

// lengthen makes ttl the length of all further renewals, if it is longer.
func (g *grant) lengthen(ttl time.Duration) {
	g.mu.Lock()
	g.ttl = max(g.ttl, ttl)
	g.mu.Unlock()
}
