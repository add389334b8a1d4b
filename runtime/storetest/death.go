package storetest

import (
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// A process that dies keeps nothing locked for longer than one lease, or than the store needs to notice the death.
var deathTests = map[string]func(*testing.T, *env){
	"of_a_holder": func(t *testing.T, e *env) {
		c := e.child("hold")
		old := c.fence()
		l := e.locker("a")
		next := e.leasing(l, "held", lockrt.Options{TTL: long, Wait: lockrt.Forever}, 1)
		c.die()
		lease := e.afterDeath(next, c)
		if lease.Fence() <= old {
			t.Errorf("fence %d after the dead one's %d", lease.Fence(), old)
		}
		e.releaseLease(lease)
	},

	"of_a_waiter": func(t *testing.T, e *env) {
		l := e.locker("a")
		holder := e.lease(l, "waited", lockrt.Options{TTL: long})
		c := e.child("hold")
		c.fence()
		testsync.Eventually(t, "the child is in the queue", func() bool {
			info, err := l.Holder(e.ctx, "waited")
			return err == nil && len(info.Waiters) == 1
		})
		next := e.leasing(e.locker("b"), "waited", lockrt.Options{TTL: long, Wait: lockrt.Forever}, 2)
		c.die()
		e.releaseLease(holder)
		e.releaseLease(e.afterDeath(next, c))
		// It held another lock, too, which nobody waited for.
		e.releaseLease(e.lease(l, "held", lockrt.Options{TTL: long, Wait: e.deathTTL() + e.options.coarse + testsync.Patience}))
	},

	"of_one_of_several_readers": func(t *testing.T, e *env) {
		e.sharer("a")
		c := e.child("read")
		old := c.fence()
		l := e.locker("a")
		beside := e.lease(l, "held", lockrt.Options{TTL: long, Mode: lockrt.Read})
		if beside.Fence() != old {
			t.Errorf("the fence is %d beside a reader with %d", beside.Fence(), old)
		}
		next := e.leasing(e.locker("b"), "held", lockrt.Options{TTL: long, Wait: lockrt.Forever}, 1)
		c.die()
		testsync.Eventually(t, "the dead reader is off the lock", func() bool {
			info, err := l.Holder(e.ctx, "held")
			return err == nil && len(info.Holders) == 1
		})
		e.releaseLease(beside)
		lease := e.afterDeath(next, c)
		if lease.Fence() <= old {
			t.Errorf("fence %d after the readers' %d", lease.Fence(), old)
		}
		e.releaseLease(lease)
	},

	"of_one_of_several_permits": func(t *testing.T, e *env) {
		e.sharer("a")
		c := e.child("permit")
		old := c.fence()
		l, o := e.locker("a"), lockrt.Options{TTL: long, Wait: lockrt.Forever, Permits: deathPermits}
		beside := e.lease(l, "held", o)
		next := e.leasing(e.locker("b"), "held", o, 1)
		c.die()
		lease := e.afterDeath(next, c)
		if lease.Fence() <= old || lease.Slot() != 0 {
			t.Errorf("the permit has slot %d and fence %d, want the dead one's slot 0 and more than %d",
				lease.Slot(), lease.Fence(), old)
		}
		if err := beside.Check(e.ctx); err != nil {
			t.Errorf("the permit beside the dead one: %v", err)
		}
		e.releaseLease(beside)
		e.releaseLease(lease)
	},

	"anywhere": func(t *testing.T, e *env) {
		l := e.locker("a")
		for range e.rounds(4) {
			c := e.child("cycle")
			for range 10 {
				c.fence()
			}
			c.die()
			next := e.leasing(l, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever}, 0)
			lease := e.afterDeath(next, c)
			if last := c.lastFence(); lease.Fence() <= last {
				t.Errorf("fence %d after the dead one's %d", lease.Fence(), last)
			}
			e.releaseLease(lease)
		}
	},

	"leaves_nothing": func(t *testing.T, e *env) {
		c := e.child("hold")
		c.fence()
		c.die()
		s, _ := e.session("a")
		e.free(s, "held")
		e.free(s, "waited") // it may have had that, too
		if infos, err := s.List(e.ctx, ""); err != nil || len(infos) > 0 {
			t.Errorf("left behind are %+v, %v", infos, err)
		}
	},
}

// deathTTL is that of the processes that die: a lease of a store that notices deaths late is no shorter.
func (e *env) deathTTL() time.Duration { return max(time.Second, e.options.coarse/2) }

// afterDeath waits for a lease in the way of which somebody died, within the time that the contract gives.
func (e *env) afterDeath(done <-chan leaseOutcome, c *child) *lockrt.Lease {
	e.t.Helper()
	lease := e.leased(done, nil)
	if lease == nil {
		e.t.Fatal("the lease was broken")
	}
	const busyMachine = time.Minute
	if took, limit := time.Since(c.died), max(e.deathTTL(), e.options.coarse); took > limit+busyMachine {
		e.t.Errorf("a dead process blocked for %s, want %s at the most", took, limit)
	}
	return lease
}
