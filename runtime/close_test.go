package runtime_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// TestLocker_Close_withoutTime gives Close no time to release anything. Nothing renews the leases any more, nor ends
// them at their deadlines, so their holders have to hear of it now.
func TestLocker_Close_withoutTime(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		locks, err := lockrt.New(store, lockrt.Config{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		var leases lockrt.Leases
		for i := range 100 {
			leases = append(leases, mustAcquire(t, locks, t.Context(), strconv.Itoa(i), lockrt.Options{TTL: ttl}))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := locks.Close(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Close: %v, want context.Canceled", err)
		}
		for _, lease := range leases {
			cause := context.Cause(lease.Context())
			if !errors.Is(cause, lockrt.ErrLost) || !errors.Is(cause, lockrt.ErrClosed) {
				t.Fatalf("%q goes on after Close: its context has ended with %v, want ErrLost and ErrClosed", lease.Key(), cause)
			}
		}
	})
}

func TestLocker_Close_refusesToLook(t *testing.T) {
	locks := newLocker(t, memstore.New(), lockrt.Config{})
	lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
	if err := locks.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, listed := locks.List(t.Context(), "")
	_, looked := locks.Holder(t.Context(), "k")
	for name, err := range map[string]error{
		"List": listed, "Holder": looked, "Break": locks.Break(t.Context(), "k", "test"), "Check": lease.Check(t.Context()),
		"Extend": lease.Extend(t.Context(), ttl),
	} {
		if !errors.Is(err, lockrt.ErrClosed) {
			t.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
}
