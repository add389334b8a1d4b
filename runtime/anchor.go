package lockrt

import (
	"cmp"
	"sync"
)

// Anchor says that something at the store keeps others out for as long as the lease would, such as a transaction that has
// locked the lock's row: see sqlstore.Guard. The lease then ends at the store, where its release waits for that, and is not
// passed on to the next caller in this process (Config.LocalHandoffs), which the store does not hear of. The function that
// it returns takes that back, and may be called twice. It is for packages that build on a store, and does not block.
//
// The error is that of Err, for a lease that has ended. Whoever calls Anchor before the store is asked knows that nobody
// else in this process has got the lock in between.
func (le *Lease) Anchor() (undo func(), err error) {
	if le.none() {
		return func() {}, le.Err()
	}
	if err := le.Err(); err != nil {
		return func() {}, err
	}
	g := le.grant
	g.mu.Lock()
	lives := g.over == nil && g.isTurnOf(le)
	if lives {
		g.anchors++
	}
	g.mu.Unlock()
	if !lives {
		return func() {}, cmp.Or(le.Err(), ErrNotHeld)
	}
	return sync.OnceFunc(func() {
		g.mu.Lock()
		g.anchors--
		g.mu.Unlock()
	}), nil
}
