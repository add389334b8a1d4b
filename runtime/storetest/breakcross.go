package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Breaks that cross with grants: whatever comes first, no two leases live at the same time.
var breakCrossingTests = map[string]func(*testing.T, *env){
	"two_in_a_row_with_waiters": func(t *testing.T, e *env) {
		a, b, c := e.locker("a"), e.locker("b"), e.locker("c")
		e.breaker(first(e.session("d")))
		o := lockrt.Options{TTL: long, Wait: lockrt.Forever, NoRenew: true}
		for round := range e.rounds(15) {
			key := fmt.Sprint("k", round)
			one := e.lease(a, key, o)
			second, third := e.leasing(b, key, o, 1), e.leasing(c, key, o, 2)
			for range 2 {
				if err := c.Break(e.ctx, key, "one and then the next"); err != nil && !errors.Is(err, lockrt.ErrNotHeld) {
					t.Fatal(err)
				}
			}
			// A caller that was broken before it knew of its lease may have asked once more, and come last.
			had := []*lockrt.Lease{one}
			for range 2 {
				lease := e.leased(second, third)
				for _, before := range had {
					if lease != nil && before.Err() == nil {
						t.Fatalf("round %d: fence %d is given while fence %d lives", round, lease.Fence(), before.Fence())
					}
				}
				had = append(had, lease)
				e.releaseBroken(lease)
			}
		}
	},

	"crossing_with_a_direct_grant": func(t *testing.T, e *env) {
		a, b := e.locker("a"), e.locker("b")
		e.breaker(first(e.session("d")))
		for round := range e.rounds(60) {
			e.breakCrosses(a, b, fmt.Sprint("k", round), func() {})
		}
	},

	"crossing_with_a_grant_to_a_waiter": func(t *testing.T, e *env) {
		a, b, c := e.locker("a"), e.locker("b"), e.locker("c")
		e.breaker(first(e.session("d")))
		for round := range e.rounds(40) {
			key := fmt.Sprint("k", round)
			before := e.lease(c, key, lockrt.Options{TTL: long})
			e.breakCrosses(a, b, key, func() {
				testsync.Eventually(t, "the waiter is in the queue", func() bool {
					info, err := b.Holder(e.ctx, key)
					return err == nil && len(info.Waiters) == 1
				})
				e.releaseLease(before)
			})
		}
	},
}

// breakCrosses lets a acquire the lock, and b break it as soon as a has it at the store, which may be before a knows;
// then a may ask once more. b acquires it, too: the two never hold it at the same time.
func (e *env) breakCrosses(a, b *lockrt.Locker, key string, free func()) {
	e.t.Helper()
	o := lockrt.Options{TTL: long, Wait: lockrt.Forever, NoRenew: true}
	broken := e.leasing(a, key, o, 0)
	free()
	testsync.Eventually(e.t, "the lease of a is broken", func() bool {
		info, err := b.Holder(e.ctx, key)
		return err == nil && info.Node == "a" && b.Break(e.ctx, key, "crossing") == nil
	})
	next := e.leasing(b, key, o, 0)
	one := e.leased(broken, next)
	var two *lockrt.Lease
	atOnce := true
	select {
	case r := <-broken:
		two = r.lease
	case r := <-next:
		two = r.lease
	case <-time.After(10 * time.Millisecond): // more than a grant that crosses needs
		atOnce = false
	}
	if one.Err() == nil && two.Err() == nil {
		e.t.Fatalf("%q: the leases with fences %d and %d live at the same time", key, one.Fence(), two.Fence())
	}
	e.releaseBroken(one)
	if !atOnce {
		two = e.leased(broken, next)
		if two.Err() == nil && two.Fence() <= one.Fence() {
			e.t.Fatalf("%q: the lease with fence %d lives after that with %d", key, two.Fence(), one.Fence())
		}
	}
	e.releaseBroken(two)
}

// releaseBroken releases a lease that may be broken, or that its caller did not get because of that.
func (e *env) releaseBroken(lease *lockrt.Lease) {
	e.t.Helper()
	if err := lease.Release(e.ctx); err != nil && !errors.Is(err, lockrt.ErrLost) {
		e.t.Fatalf("release of fence %d: %v", lease.Fence(), err)
	}
}

func (e *env) lease(l *lockrt.Locker, key string, o lockrt.Options) *lockrt.Lease {
	e.t.Helper()
	lease, err := l.Acquire(e.ctx, key, o)
	if err != nil {
		e.t.Fatalf("acquire %q: %v", key, err)
	}
	return lease
}

type leaseOutcome struct {
	lease *lockrt.Lease
	err   error
}

// leasing starts an Acquire, and returns when so many wait for the lock.
func (e *env) leasing(l *lockrt.Locker, key string, o lockrt.Options, waiters int) <-chan leaseOutcome {
	e.t.Helper()
	done := make(chan leaseOutcome, 1)
	go func() {
		lease, err := l.Acquire(context.WithoutCancel(e.ctx), key, o)
		done <- leaseOutcome{lease, err}
	}()
	testsync.Eventually(e.t, "the waiters are in the queue", func() bool {
		if waiters == 0 {
			return true
		}
		info, err := l.Holder(e.ctx, key)
		return err == nil && len(info.Waiters) >= waiters
	})
	return done
}

// leased waits for the first of two leases that may be broken as soon as they are there; nil if it was broken before.
func (e *env) leased(one, two <-chan leaseOutcome) *lockrt.Lease {
	e.t.Helper()
	var r leaseOutcome
	select {
	case r = <-one:
	case r = <-two:
	case <-time.After(testsync.Patience):
		e.t.Fatal("a waiter is not served")
	}
	if r.err != nil && !errors.Is(r.err, lockrt.ErrLost) {
		e.t.Fatalf("acquire: %v", r.err)
	}
	return r.lease
}

func (e *env) releaseLease(lease *lockrt.Lease) {
	e.t.Helper()
	if err := lease.Release(e.ctx); err != nil {
		e.t.Fatalf("release %q: %v", lease.Key(), err)
	}
}
