package lockrt_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// A busy machine learns of many grants when nothing is left of them. There is time to ask again.
func TestLocker_AcquireAll_grantsTooLate(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		var asked atomic.Int32
		keys := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				grant, err := real.Acquire(ctx, req)
				if int(asked.Add(1)) <= len(keys) {
					time.Sleep(3 * time.Second)
				}
				return grant, err
			}
		})
		leases, err := locks.AcquireAll(t.Context(), keys, lockrt.Options{TTL: 2 * time.Second, Wait: time.Minute})
		if err != nil || len(leases) != len(keys) {
			t.Fatalf("%d leases, %v", len(leases), err)
		}
		if err := leases.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
