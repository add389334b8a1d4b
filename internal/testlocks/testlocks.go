// Package testlocks is what the tests of lock stores on clusters of servers share: short forms of calls, a witness who
// knows what the holders of locks believed and when, and a chaos of nodes and servers.
package testlocks

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Long is a TTL that no test outlives.
const Long = 10 * time.Minute

// Acquire takes a lock that must be free, or become free while the options let it wait.
func Acquire(t testing.TB, locks *lockrt.Locker, key string, o lockrt.Options) *lockrt.Lease {
	t.Helper()
	lease, err := locks.Acquire(t.Context(), key, o)
	if err != nil {
		t.Fatalf("acquire %q: %v", key, err)
	}
	return lease
}

// Release gives up a lease that must be held.
func Release(t testing.TB, lease *lockrt.Lease) {
	t.Helper()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatalf("release %q: %v", lease.Key(), err)
	}
}

// Waits starts an Acquire, and returns when it is in the queue. The channel gets the lease, or nil after an error.
func Waits(t testing.TB, locks *lockrt.Locker, key string) <-chan *lockrt.Lease {
	t.Helper()
	return WaitsAs(t, locks, key, lockrt.Options{TTL: 3 * time.Second, Wait: time.Minute})
}

// WaitsAs is Waits with other options.
func WaitsAs(t testing.TB, locks *lockrt.Locker, key string, o lockrt.Options) <-chan *lockrt.Lease {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	before := len(Waiters(t, locks, key))
	done := make(chan *lockrt.Lease, 1)
	go func() {
		lease, err := locks.Acquire(ctx, key, o)
		if err != nil {
			t.Errorf("a waiter for %q: %v", key, err)
		}
		done <- lease
	}()
	testsync.Eventually(t, "the waiter is in the queue", func() bool { return len(Waiters(t, locks, key)) > before })
	return done
}

// Waiters are those in the queue of a lock.
func Waiters(t testing.TB, locks *lockrt.Locker, key string) []lockrt.Waiter {
	t.Helper()
	info, err := locks.Holder(context.WithoutCancel(t.Context()), key)
	if err != nil && !errors.Is(err, lockrt.ErrNotHeld) {
		t.Fatal(err)
	}
	return info.Waiters
}

// Says checks that an error is there, has some parts in its text, and names no holder.
func Says(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("there is no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	if errors.Is(err, lockrt.ErrBusy) {
		t.Errorf("the error is ErrBusy: %v", err)
	}
}
