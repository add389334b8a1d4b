package lockrt_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// An inner call's MaxHold is the inner call's: whoever holds the lock around it has not agreed to that.
func TestLease_Reentrant_innerMaxHoldEndsTheInnerAlone(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		outer := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		start := time.Now()
		inner := mustAcquire(t, locks, outer.Context(), "k", lockrt.Options{TTL: ttl, MaxHold: time.Second, Reentrant: true})
		<-inner.Context().Done()
		if held := time.Since(start); held != time.Second {
			t.Errorf("the inner context ended after %s, want its MaxHold of 1s", held)
		}
		if cause := context.Cause(inner.Context()); !errors.Is(cause, lockrt.ErrLost) || !errors.Is(inner.Err(), lockrt.ErrLost) {
			t.Errorf("the inner context's cause is %v and its lease's error %v, want ErrLost", cause, inner.Err())
		}
		if err := errors.Join(outer.Err(), outer.Context().Err()); err != nil {
			t.Errorf("the outer lease ended with the inner: %v", err)
		}
		if err := inner.Release(t.Context()); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("the inner release returns %v, want ErrLost", err)
		}
		if err := outer.Check(t.Context()); err != nil {
			t.Errorf("check of the outer: %v", err)
		}
		if err := outer.Release(t.Context()); err != nil {
			t.Errorf("release of the outer: %v", err)
		}
	})
}

// The lock is kept until the last MinHold is over, whichever call's that is.
func TestLease_Reentrant_minHoldOfBothCalls(t *testing.T) {
	for name, test := range map[string]struct{ outer, before, inner, want time.Duration }{
		"the inner call's": {time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second},
		"the outer call's": {3 * time.Second, 0, time.Second, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
				start := time.Now()
				o := lockrt.Options{TTL: ttl, MinHold: test.outer, Reentrant: true}
				outer := mustAcquire(t, locks, t.Context(), "k", o)
				time.Sleep(test.before)
				o.MinHold = test.inner
				inner := mustAcquire(t, locks, outer.Context(), "k", o)
				if err := errors.Join(inner.Release(t.Context()), outer.Release(t.Context())); err != nil {
					t.Fatal(err)
				}
				other := newLocker(t, store.Store, lockrt.Config{})
				mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: ttl, Wait: ttl})
				if kept := time.Since(start); kept != test.want {
					t.Errorf("the lock was kept for %s, want %s", kept, test.want)
				}
			})
		})
	}
}

// A set that is given up leaves nothing on the lease that it shared for a moment.
func TestLocker_AcquireAll_givesUpItsMinHold(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		other := newLocker(t, store.Store, lockrt.Config{})
		mustAcquire(t, other, t.Context(), "taken", lockrt.Options{TTL: ttl})
		outer := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, Reentrant: true})
		o := lockrt.Options{TTL: ttl, MinHold: time.Minute, Reentrant: true}
		if _, err := locks.AcquireAll(outer.Context(), []string{"k", "taken"}, o); !errors.Is(err, lockrt.ErrBusy) {
			t.Fatalf("one of two locks is taken: %v", err)
		}
		if err := outer.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: ttl})
	})
}

// The outer call may end first, and its release fail: the next one keeps the lock as well.
func TestLease_Reentrant_minHoldOfAnInnerCallThatGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		start := time.Now()
		outer := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, Reentrant: true})
		o := lockrt.Options{TTL: ttl, MinHold: 3 * time.Second, Reentrant: true}
		mustAcquire(t, locks, outer.Context(), "k", o)
		store.set(func(s *faultStore) {
			s.release = func(context.Context, lockrt.Release, lockrt.Session) error { return errors.New("refused") }
		})
		if outer.Release(t.Context()) == nil {
			t.Fatal("the release was refused")
		}
		store.set(func(s *faultStore) { s.release = nil })
		if err := outer.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		other := newLocker(t, store.Store, lockrt.Config{})
		mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: ttl, Wait: ttl})
		if kept := time.Since(start); kept != 3*time.Second {
			t.Errorf("the lock was kept for %s, want that of the inner call's MinHold", kept)
		}
	})
}

// All calls of a chain share the outermost lease, however deep they are.
func TestLease_Reentrant_innermostLivesOnWithTheOutermost(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		o := lockrt.Options{TTL: ttl, Reentrant: true}
		outer := mustAcquire(t, locks, t.Context(), "k", o)
		middle := mustAcquire(t, locks, outer.Context(), "k", o)
		inner := mustAcquire(t, locks, middle.Context(), "k", o)
		if err := middle.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := inner.Err(); err != nil {
			t.Errorf("the innermost lease after the release of the one around it: %v", err)
		}
		if err := outer.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := inner.Err(); !errors.Is(err, lockrt.ErrNotHeld) {
			t.Errorf("the innermost lease after the outermost release: %v, want ErrNotHeld", err)
		}
	})
}

// The outer lease passes on to another caller while an inner call is on its way to share it.
func TestLease_Reentrant_outerHasPassedOn(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		outer := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		next := acquiring(t, locks, "k", lockrt.Options{TTL: ttl, Wait: ttl})
		if err := outer.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-next
		if _, err := lockrt.Share(t.Context(), outer, lockrt.Options{TTL: ttl}); !errors.Is(err, lockrt.ErrNotHeld) {
			t.Errorf("sharing a lease whose turn is over: %v, want ErrNotHeld", err)
		}
	})
}

// Another Locker's lock of the same name is another lock.
func TestLocker_Acquire_sameKeyOfAnotherLockerIsNotNested(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		other := newLocker(t, store, lockrt.Config{Namespace: "other"})
		outer := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		inner := mustAcquire(t, other, outer.Context(), "k", lockrt.Options{TTL: ttl, Reentrant: true})
		if err := inner.Check(t.Context()); err != nil || inner.Fence() == outer.Fence() {
			t.Errorf("the inner lease has fence %d, the outer %d; check: %v", inner.Fence(), outer.Fence(), err)
		}
	})
}

// The callback of a turn's MaxHold may come late. The lease has passed on by then, and the next turn is not its to end.
func TestLease_MaxHold_doesNotEndTheNextTurn(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, MaxHold: time.Second})
		next := acquiring(t, locks, "k", lockrt.Options{TTL: ttl, Wait: ttl})
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := <-next
		time.Sleep(time.Second)
		lockrt.ReachMaxHold(first)
		if err := second.Err(); err != nil {
			t.Errorf("the next caller's lease ended with the MaxHold of the one before: %v", err)
		}
		if err := second.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// acquiring waits for a lease in the background and returns when it does.
func acquiring(t *testing.T, locks *lockrt.Locker, key string, o lockrt.Options) <-chan *lockrt.Lease {
	t.Helper()
	done := make(chan *lockrt.Lease, 1)
	go func() {
		lease, err := locks.Acquire(t.Context(), key, o)
		if err != nil {
			t.Errorf("acquire: %v", err)
		}
		done <- lease
	}()
	synctest.Wait()
	return done
}
