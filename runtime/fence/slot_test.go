package fence_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
)

// Two holders of permits work at the same time: no name is common to both.
func TestFromContext_permits(t *testing.T) {
	locks := newLocker(t)
	var leases []*lockrt.Lease
	for range 2 {
		lease, err := locks.Acquire(t.Context(), "gpu", lockrt.Options{TTL: time.Minute, Permits: 2})
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, lease)
	}
	for i, names := range [][]string{{"gpu#0", "table#0"}, {"gpu#1", "table#1"}} {
		if got := fence.PerSlot("gpu", leases[i]); got != names[0] {
			t.Errorf("the name is %q, want %q", got, names[0])
		}
		for _, name := range names {
			if f, err := fence.FromContext(leases[i].Context(), name); err != nil || f != leases[i].Fence() {
				t.Errorf("%s: %s, %v, want %s", name, f, err, leases[i].Fence())
			}
		}
		for _, name := range []string{"gpu", "table", "gpu#", "gpu#7", "#", names[0] + "1"} {
			_, err := fence.FromContext(leases[i].Context(), name)
			if !errors.Is(err, fence.ErrInvalid) || errors.Is(err, lockrt.ErrNotHeld) {
				t.Errorf("%s: %v, want ErrInvalid", name, err)
			}
		}
		_, err := fence.FromContext(leases[i].Context(), "gpu")
		if !strings.Contains(err.Error(), names[0]) || !strings.Contains(err.Error(), "GuardLease") {
			t.Errorf("the error %q does not say what to do", err)
		}
		req, err := http.NewRequestWithContext(leases[i].Context(), http.MethodPost, "http://localhost/gpu", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (&fence.Transport{}).RoundTrip(req); !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("sent over HTTP without its slot: %v, want ErrInvalid", err)
		}
	}
	if err := leases[0].Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := fence.FromContext(leases[0].Context(), "gpu#0"); !errors.Is(err, lockrt.ErrNotHeld) {
		t.Errorf("after the release: %v", err)
	}
	lease := acquire(t, locks, "k")
	if got := fence.PerSlot("k", lease); got != "k" {
		t.Errorf("the name of a lease without a slot is %q", got)
	}
	if got := fence.PerSlot("k", nil); got != "k" {
		t.Errorf("the name of no lease is %q", got)
	}
}

// With leases on several keys the slot's name still finds its lease.
func TestFromContext_permitAmongOthers(t *testing.T) {
	locks := newLocker(t)
	keys := []lockrt.KeyOptions{{Key: "a"}, {Key: "gpu", Permits: 2}, {Key: "z", Mode: lockrt.Read}}
	leases, err := locks.AcquireEach(t.Context(), keys, lockrt.Options{TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]string{"a": "a", "gpu#0": "gpu", "z": "z"} {
		if f, err := fence.FromContext(leases.Context(), name); err != nil || f != leases.Lease(key).Fence() {
			t.Errorf("%s: %s, %v, want %s", name, f, err, leases.Lease(key).Fence())
		}
	}
	for _, name := range []string{"gpu", "gpu#1", "a#0"} {
		if _, err := fence.FromContext(leases.Context(), name); !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}
