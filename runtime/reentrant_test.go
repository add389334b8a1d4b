package runtime_test

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

func TestLease_Reentrant_innerMinHoldKeepsTheLock(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		outer := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, MinHold: time.Second})
		time.Sleep(2 * time.Second)
		start := time.Now()
		inner := mustAcquire(t, locks, outer.Context(), "k", lockrt.Options{TTL: ttl, MinHold: 3 * time.Second, Reentrant: true})
		if err := errors.Join(inner.Release(t.Context()), outer.Release(t.Context())); err != nil {
			t.Fatal(err)
		}
		other := newLocker(t, store.Store, lockrt.Config{})
		mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: ttl, Wait: ttl})
		if kept := time.Since(start); kept != 3*time.Second {
			t.Errorf("the lock was kept for %s after the inner call began, want its MinHold of 3s", kept)
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
