package fence_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/fence/internal/fencetest"
	"github.com/lockgen/lockgen/runtime/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newLocker(t testing.TB) *lockrt.Locker {
	t.Helper()
	locks, err := lockrt.New(memstore.New(), lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := locks.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return locks
}

func acquire(t testing.TB, locks *lockrt.Locker, key string) *lockrt.Lease {
	t.Helper()
	lease, err := locks.Acquire(t.Context(), key, lockrt.Options{TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func TestFromContext(t *testing.T) {
	locks := newLocker(t)
	if _, err := fence.FromContext(t.Context()); !errors.Is(err, lockrt.ErrNotHeld) || errors.Is(err, lockrt.ErrLost) {
		t.Errorf("without a lease: %v", err)
	}
	lease := acquire(t, locks, "a")
	if f, err := fence.FromContext(lease.Context()); err != nil || f != lease.Fence() {
		t.Errorf("with a lease: %s, %v, want %s", f, err, lease.Fence())
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := fence.FromContext(lease.Context()); !errors.Is(err, lockrt.ErrNotHeld) || errors.Is(err, lockrt.ErrLost) {
		t.Errorf("after the release: %v", err)
	}
	lost := acquire(t, locks, "a")
	if err := locks.Break(t.Context(), "a", "test"); err != nil {
		t.Fatal(err)
	}
	<-lost.Done()
	if _, err := fence.FromContext(lost.Context()); !errors.Is(err, lockrt.ErrNotHeld) || !errors.Is(err, lockrt.ErrLost) {
		t.Errorf("after the loss: %v", err)
	}
}

func TestStaleError_saysWhatToDo(t *testing.T) {
	err := &fence.StaleError{Resource: "account:42", Given: 33, Highest: 34}
	for _, want := range []string{`"account:42"`, "fence 33 ", "seen 34", "undo"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func TestMemory_conformance(t *testing.T) { fencetest.State(t, new(fence.Memory)) }
