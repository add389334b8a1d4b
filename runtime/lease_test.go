package lockrt_test

import (
	"context"
	"errors"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestLease_nilAndZero(t *testing.T) {
	for name, lease := range map[string]*lockrt.Lease{"nil": nil, "zero": new(lockrt.Lease)} {
		t.Run(name, func(t *testing.T) {
			if err := lease.Release(t.Context()); err != nil {
				t.Errorf("release: %v", err)
			}
			for what, err := range map[string]error{
				"Err": lease.Err(), "Check": lease.Check(t.Context()), "Extend": lease.Extend(t.Context(), ttl),
			} {
				if !errors.Is(err, lockrt.ErrNotHeld) {
					t.Errorf("%s: %v, want ErrNotHeld", what, err)
				}
			}
			<-lease.Done()
			if lease.Locker() != nil || lease.Key() != "" || lease.Fence() != 0 || !lease.Deadline().IsZero() || lease.Context().Err() != nil {
				t.Error("it has a Locker, a key, a fence, a deadline or an ended context")
			}
		})
	}
}

func TestLease_Release_isIdempotentAndSurvivesTheEndOfTheContext(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		calls := 0
		store.set(func(s *faultStore) {
			s.release = func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
				calls++
				if ctx.Err() != nil {
					t.Error("the store is called with an ended context")
				}
				if _, bounded := ctx.Deadline(); !bounded {
					t.Error("the store is called with a context without deadline")
				}
				return real.Release(ctx, rel)
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		lease := mustAcquire(t, locks, ctx, "k", lockrt.Options{TTL: ttl})
		cancel()
		if lease.Err() != nil {
			t.Errorf("the lease ended with its caller's context: %v", lease.Err())
		}
		for range 3 {
			if err := lease.Release(ctx); err != nil {
				t.Errorf("release: %v", err)
			}
		}
		if calls != 1 {
			t.Errorf("the store was called %d times", calls)
		}
		if cause := context.Cause(lease.Context()); !errors.Is(cause, context.Canceled) {
			t.Errorf("cause is %v, want the caller's", cause)
		}
	})
}

func TestLease_Release_thatFailedMayBeRepeated(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		down := errors.New("connection refused")
		store.set(func(s *faultStore) {
			s.release = func(context.Context, lockrt.Release, lockrt.Session) error { return down }
		})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		if err := lease.Release(t.Context()); !errors.Is(err, down) || errors.Is(err, lockrt.ErrLost) {
			t.Errorf("release while the store is down: %v, want its error", err)
		}
		select {
		case <-lease.Context().Done():
		default:
			t.Error("the context goes on after a release that failed")
		}
		store.set(func(s *faultStore) { s.release = nil })
		if err := lease.Release(t.Context()); err != nil {
			t.Errorf("second release: %v", err)
		}
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
	})
}

func TestLease_Release_ofAForgottenLeaseIsLost(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		store.set(func(s *faultStore) {
			s.release = func(context.Context, lockrt.Release, lockrt.Session) error { return lockrt.ErrLost }
		})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		for range 2 {
			if err := lease.Release(t.Context()); !errors.Is(err, lockrt.ErrLost) {
				t.Errorf("release: %v, want ErrLost", err)
			}
		}
		if err := lease.Err(); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("Err is %v, want ErrLost", err)
		}
	})
}

func TestLocker_Acquire_nested(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		outer := mustAcquire(t, locks, t.Context(), "a", lockrt.Options{TTL: ttl})
		between := mustAcquire(t, locks, outer.Context(), "b", lockrt.Options{TTL: ttl})
		_, err := locks.Acquire(between.Context(), "a", lockrt.Options{TTL: ttl, Wait: lockrt.Forever})
		if !errors.Is(err, lockrt.ErrNested) {
			t.Fatalf("nested acquire: %v, want ErrNested", err)
		}
		if err := outer.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		// What is over is not held: the same chain may acquire it again.
		again, err := locks.Acquire(context.WithoutCancel(between.Context()), "a", lockrt.Options{TTL: ttl})
		if err != nil {
			t.Fatal(err)
		}
		if again.Fence() <= outer.Fence() {
			t.Errorf("fence %d after %d", again.Fence(), outer.Fence())
		}
	})
}

func TestLocker_Acquire_reentrantSharesTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		outer := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		inner := mustAcquire(t, locks, outer.Context(), "k", lockrt.Options{TTL: ttl, Reentrant: true})
		if inner.Fence() != outer.Fence() {
			t.Errorf("the inner fence is %d, the outer %d: an inner write would fence out the outer", inner.Fence(), outer.Fence())
		}
		if err := inner.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if inner.Err() == nil || outer.Err() != nil {
			t.Errorf("after the inner release Err is %v inside and %v outside", inner.Err(), outer.Err())
		}
		other := mustAcquire(t, locks, outer.Context(), "k", lockrt.Options{TTL: ttl, Reentrant: true})
		if err := outer.Release(t.Context()); err != nil {
			t.Error(err)
		}
		<-other.Context().Done() // the outermost release ends all
		if err := lockrt.AssertHeld(other.Context(), "k"); !errors.Is(err, lockrt.ErrNotHeld) {
			t.Errorf("inside after the outer release: %v, want ErrNotHeld", err)
		}
	})
}

func TestFromContext(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		if lockrt.FromContext(t.Context()) != nil || lockrt.Held(t.Context(), "a") != nil {
			t.Error("a lease outside of any critical section")
		}
		if err := lockrt.AssertHeld(t.Context(), "a"); !errors.Is(err, lockrt.ErrNotHeld) {
			t.Errorf("AssertHeld outside: %v", err)
		}
		a := mustAcquire(t, locks, t.Context(), "a", lockrt.Options{TTL: ttl, NoRenew: true})
		b := mustAcquire(t, locks, a.Context(), "b", lockrt.Options{TTL: 2 * ttl})
		ctx := b.Context()
		if lockrt.FromContext(ctx) != b || lockrt.Held(ctx, "a") != a || lockrt.Held(ctx, "b") != b || lockrt.Held(ctx, "c") != nil {
			t.Error("the leases in the context are not those that were acquired")
		}
		for _, key := range []string{"a", "b"} {
			if err := lockrt.AssertHeld(ctx, key); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(ttl)
		if err := lockrt.AssertHeld(ctx, "a"); !errors.Is(err, lockrt.ErrNotHeld) || !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("AssertHeld on a lost lease: %v, want ErrNotHeld and ErrLost", err)
		}
		if ctx.Err() == nil {
			t.Error("the inner context goes on after the outer lease was lost")
		}
	})
}
