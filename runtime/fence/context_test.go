package fence_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
)

func TestFromContext_oneLease(t *testing.T) {
	locks := newLocker(t)
	if _, err := fence.FromContext(t.Context(), "a"); !errors.Is(err, lockrt.ErrNotHeld) || errors.Is(err, lockrt.ErrLost) {
		t.Errorf("without a lease: %v", err)
	}
	lease := acquire(t, locks, "a")
	for _, resource := range []string{"a", "table of a"} {
		if f, err := fence.FromContext(lease.Context(), resource); err != nil || f != lease.Fence() {
			t.Errorf("%s: %s, %v, want %s", resource, f, err, lease.Fence())
		}
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := fence.FromContext(lease.Context(), "a"); !errors.Is(err, lockrt.ErrNotHeld) || errors.Is(err, lockrt.ErrLost) {
		t.Errorf("after the release: %v", err)
	}
	lost := acquire(t, locks, "a")
	if err := locks.Break(t.Context(), "a", "test"); err != nil {
		t.Fatal(err)
	}
	<-lost.Done()
	for _, resource := range []string{"a", "table of a"} {
		_, err := fence.FromContext(lost.Context(), resource)
		if !errors.Is(err, lockrt.ErrNotHeld) || !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("%s, after the loss: %v", resource, err)
		}
	}
}

// The fence of one lock says nothing about what another protects.
func TestFromContext_severalLeases(t *testing.T) {
	locks := newLocker(t)
	if err := locks.DoAll(t.Context(), []string{"a", "b", "c"}, lockrt.Options{TTL: time.Minute},
		func(ctx context.Context, leases lockrt.Leases) error {
			for _, key := range []string{"a", "b", "c"} {
				if f, err := fence.FromContext(ctx, key); err != nil || f != leases.Lease(key).Fence() {
					t.Errorf("%s: %s, %v; want %s", key, f, err, leases.Lease(key).Fence())
				}
			}
			_, err := fence.FromContext(ctx, "d")
			if !errors.Is(err, fence.ErrInvalid) || errors.Is(err, fence.ErrStale) || errors.Is(err, lockrt.ErrNotHeld) {
				t.Errorf("none is called like the resource: %v", err)
			}
			for _, want := range []string{`"a"`, `"b"`, `"c"`, `"d"`, "lockrt.Held(ctx, key).Fence()"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error %q does not say %s", err, want)
				}
			}
			return nil
		}); err != nil {
		t.Error(err)
	}
}

// A lease that is over is not made up for by another that lives.
func TestFromContext_namedLeaseIsOver(t *testing.T) {
	locks := newLocker(t)
	outer := acquire(t, locks, "outer")
	inner, err := locks.Acquire(context.WithoutCancel(outer.Context()), "inner", lockrt.Options{TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := locks.Break(t.Context(), "outer", "test"); err != nil {
		t.Fatal(err)
	}
	<-outer.Done()
	if _, err := fence.FromContext(inner.Context(), "outer"); !errors.Is(err, lockrt.ErrLost) {
		t.Errorf("the outer, lost: %v", err)
	}
	if _, err := fence.FromContext(inner.Context(), "table"); !errors.Is(err, fence.ErrInvalid) {
		t.Errorf("no lock of that name: %v", err)
	}
	if f, err := fence.FromContext(inner.Context(), "inner"); err != nil || f != inner.Fence() {
		t.Errorf("the inner: %s, %v", f, err)
	}
	if err := inner.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// One lock that is held twice by Reentrant is one lock.
func TestFromContext_reentrant(t *testing.T) {
	locks := newLocker(t)
	outer := acquire(t, locks, "a")
	inner, err := locks.Acquire(outer.Context(), "a", lockrt.Options{TTL: time.Minute, Reentrant: true})
	if err != nil {
		t.Fatal(err)
	}
	if f, err := fence.FromContext(inner.Context(), "table"); err != nil || f != outer.Fence() {
		t.Errorf("%s, %v; want %s", f, err, outer.Fence())
	}
	if err := errors.Join(inner.Release(t.Context()), outer.Release(t.Context())); err != nil {
		t.Error(err)
	}
}
