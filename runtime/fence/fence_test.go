package fence_test

import (
	"context"
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

func TestStaleError_saysWhatToDo(t *testing.T) {
	err := &fence.StaleError{Resource: "account:42", Given: 33, Highest: 34}
	for _, want := range []string{`"account:42"`, "fence 33 ", "seen 34", "undo"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func TestMemory_conformance(t *testing.T) { fencetest.State(t, new(fence.Memory)) }
