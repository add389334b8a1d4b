package lockrt_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// One timer serves the deadlines of all leases: the nearest comes first, whenever the lease began.
func TestLease_Context_endsAtTheNearestDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		start := time.Now()
		far := mustAcquire(t, locks, t.Context(), "far", lockrt.Options{TTL: 3 * ttl, NoRenew: true})
		near := mustAcquire(t, locks, t.Context(), "near", lockrt.Options{TTL: ttl, NoRenew: true})
		extended := mustAcquire(t, locks, t.Context(), "extended", lockrt.Options{TTL: ttl, NoRenew: true})
		if err := extended.Extend(t.Context(), 2*ttl); err != nil {
			t.Fatal(err)
		}
		for i, lease := range []*lockrt.Lease{near, extended, far} {
			<-lease.Done()
			if held, want := time.Since(start), time.Duration(i+1)*(ttl-ttlMargin); held != want {
				t.Errorf("%q ended after %s, want %s", lease.Key(), held, want)
			}
		}
	})
}

// The timer may come late on a machine with much to do. Whoever asks the lease hears what the clock says.
func TestLease_Err_looksAtTheClock(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: true})
		if !lockrt.StopTimers(locks) {
			t.Fatal("no timer is set for the deadline")
		}
		time.Sleep(ttl - ttlMargin - 1)
		if err := lease.Err(); err != nil {
			t.Errorf("before the deadline: %v", err)
		}
		time.Sleep(1)
		if err := lease.Err(); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("at the deadline: %v, want ErrLost", err)
		}
		if cause := context.Cause(lease.Context()); !errors.Is(cause, lockrt.ErrLost) {
			t.Errorf("the context's cause is %v, want ErrLost", cause)
		}
	})
}

func TestLocker_Close_leavesNoTimer(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		locks := newLocker(t, store, lockrt.Config{})
		released := mustAcquire(t, locks, t.Context(), "released", lockrt.Options{TTL: ttl, MaxHold: time.Hour})
		held := mustAcquire(t, locks, t.Context(), "held", lockrt.Options{TTL: ttl, MaxHold: time.Hour})
		if err := errors.Join(released.Release(t.Context()), locks.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		if lockrt.StopTimers(locks) || lockrt.StopMaxHold(released) || lockrt.StopMaxHold(held) {
			t.Error("a timer runs on after Close")
		}
	})
}

// A renewal that hangs is given up while there is time for another.
func TestLease_renewal_thatHangsLeavesTimeForAnother(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		store.set(func(s *faultStore) {
			s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
				store.set(func(s *faultStore) { s.renew = nil })
				return blackHole(ctx, renewals, real)
			}
		})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		time.Sleep(2 * ttl)
		if err := lease.Err(); err != nil {
			t.Errorf("the lease after one renewal that hung: %v", err)
		}
	})
}

// A store takes longer for an answer than the first try of a renewal waits for it, which is a sixth of the TTL. The next one
// waits for longer.
func TestLease_renewal_ofASlowStore(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		store.set(func(s *faultStore) {
			s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
				if !pace.Sleep(ctx, ttl/5) {
					return blackHole(ctx, renewals, real)
				}
				return real.Renew(ctx, renewals)
			}
		})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		time.Sleep(10 * ttl)
		if err := lease.Err(); err != nil {
			t.Errorf("the lease in a slow store: %v", err)
		}
	})
}

// Leases that are over are forgotten: a process that loses many and does not trouble to release them does not grow.
func TestLocker_forgetsLeasesThatAreOver(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		mustAcquire(t, locks, t.Context(), "expired", lockrt.Options{TTL: ttl, NoRenew: true})
		mustAcquire(t, locks, t.Context(), "ended", lockrt.Options{TTL: ttl, MaxHold: ttl / 2})
		released := mustAcquire(t, locks, t.Context(), "released", lockrt.Options{TTL: ttl})
		if known := lockrt.Known(locks); known != 3 {
			t.Fatalf("%d leases are known, want 3", known)
		}
		if err := released.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * ttl)
		synctest.Wait()
		if known := lockrt.Known(locks); known != 0 {
			t.Errorf("%d leases are known after all have ended", known)
		}
	})
}
