package lockrt_test

import (
	"fmt"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestLocalQueue_leaseWithAnotherTTLIsNotPassedOn(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		calls := new(counted)
		calls.install(store)
		first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: 100 * ttl})
		wg := queueUp(t, locks, "k", 1, lockrt.Options{TTL: ttl, Wait: lockrt.Forever}, func(_ int, lease *lockrt.Lease) {
			// If this process died now, the lock must be free after ttl.
			info, err := locks.Holder(t.Context(), "k")
			if err != nil || info.Remaining > ttl {
				t.Errorf("the store keeps the lock for %s (error %v), want at most %s", info.Remaining, err, ttl)
			}
		})
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
	})
}

func TestLocalQueue_leaseThatIsUsedUpIsRenewedBeforeItPassesOn(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		locks := newLocker(t, store, lockrt.Config{LocalHandoffTime: time.Hour})
		first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: true})
		wg := queueUp(t, locks, "k", 1, lockrt.Options{TTL: ttl, Wait: lockrt.Forever, NoRenew: true}, func(_ int, lease *lockrt.Lease) {
			if left := time.Until(lease.Deadline()); left != ttl-ttlMargin {
				t.Errorf("%s are left at the start of the turn, want %s", left, ttl-ttlMargin)
			}
		})
		time.Sleep(ttl / 2)
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
	})
}

func TestLocalQueue_renewalFollowsTheTurn(t *testing.T) {
	for _, second := range []bool{true, false} { // NoRenew of the lease that the grant passes on to
		t.Run(fmt.Sprintf("NoRenew=%v", second), func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
				locks := newLocker(t, store, lockrt.Config{LocalHandoffTime: time.Hour})
				first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: !second})
				passed := acquiring(t, locks, "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever, NoRenew: second})
				if err := first.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				lease := <-passed
				time.Sleep(ttl)
				if lost := lease.Err() != nil; lost != second {
					t.Errorf("lost after a TTL is %v", lost)
				}
			})
		})
	}
}

func TestLocalQueue_renewalInFlightDoesNotServeTheNextLease(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		locks := newLocker(t, store, lockrt.Config{LocalHandoffTime: time.Hour})
		answer := heldBack(store)
		first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		passed := acquiring(t, locks, "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever, NoRenew: true})
		time.Sleep(ttl * 4 / 10) // the first's renewal is under way
		store.set(func(s *faultStore) { s.renew = nil })
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		lease := <-passed
		close(answer)
		time.Sleep(ttl + ttl/10)
		if lease.Err() == nil {
			t.Error("a lease with NoRenew is renewed because the one before it was")
		}
	})
}

func TestLocalQueue_nextBehindALostLeaseAsksTheStore(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: true}) // never released
		wg := queueUp(t, locks, "k", 1, lockrt.Options{TTL: ttl, Wait: lockrt.Forever}, func(_ int, lease *lockrt.Lease) {
			if first.Err() == nil {
				t.Error("two leases are live")
			}
		})
		wg.Wait()
	})
}

func TestLocalQueue_lossReachesOnlyTheOneWhoseTurnItIs(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, MaxHold: ttl / 2})
		wg := queueUp(t, locks, "k", 1, lockrt.Options{TTL: ttl, Wait: lockrt.Forever}, func(_ int, lease *lockrt.Lease) {
			time.Sleep(ttl) // beyond the first's MaxHold
			if err := lease.Err(); err != nil {
				t.Errorf("lost: %v", err)
			}
		})
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
	})
}
