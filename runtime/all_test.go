package lockrt_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func manyKeys(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("k%03d", i))
	}
	return keys
}

// A large set that is free is asked for at the same time. One after another would wait here for ever.
func TestLocker_AcquireAll_asksForManyAtOnce(t *testing.T) {
	for name, cfg := range map[string]lockrt.Config{"in the queue": {}, "strict": {LocalHandoffs: -1}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
				locks := newLocker(t, store, cfg)
				keys := manyKeys(100)
				var all sync.WaitGroup
				all.Add(len(keys))
				store.set(func(s *faultStore) {
					s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
						all.Done()
						all.Wait()
						return real.Acquire(ctx, req)
					}
				})
				leases, err := locks.AcquireAll(t.Context(), keys, lockrt.Options{TTL: ttl, Wait: time.Second})
				if err != nil || len(leases) != len(keys) {
					t.Fatalf("%d leases, %v", len(leases), err)
				}
				for i, lease := range leases {
					if lease.Key() != keys[i] || lockrt.AssertHeld(leases.Context(), keys[i]) != nil {
						t.Fatalf("lease %d is on %q, and the context holds it: %v", i, lease.Key(),
							lockrt.AssertHeld(leases.Context(), keys[i]))
					}
				}
				if err := leases.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				if infos, err := locks.List(t.Context(), ""); err != nil || len(infos) != 0 {
					t.Errorf("%d locks are held after the release, %v", len(infos), err)
				}
			})
		})
	}
}

// A context that has ended ends the call, however many keys there are.
func TestLocker_AcquireAll_contextThatIsOver(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		why := errors.New("the client went away")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		for _, n := range []int{1, 7, 8, 30} {
			for _, wait := range []time.Duration{0, time.Second, lockrt.Forever} {
				leases, err := locks.AcquireAll(ctx, manyKeys(n), lockrt.Options{TTL: ttl, Wait: wait})
				if !errors.Is(err, context.Canceled) || !errors.Is(err, why) || len(leases) != 0 {
					t.Errorf("%d keys, wait %s: %d leases, %v", n, wait, len(leases), err)
				}
			}
		}
	})
}

// While one of many keys is waited for, those before it are held and those behind it are not.
func TestLocker_AcquireAll_holdsNothingBehindWhatItWaitsFor(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		keys := manyKeys(50)
		other := newLocker(t, store, lockrt.Config{})
		blocker := mustAcquire(t, other, t.Context(), keys[20], lockrt.Options{TTL: time.Hour})
		done := make(chan error, 1)
		go func() {
			leases, err := locks.AcquireAll(t.Context(), keys, lockrt.Options{TTL: ttl, Wait: time.Hour})
			done <- errors.Join(err, leases.Release(t.Context()))
		}()
		synctest.Wait()
		infos, err := other.List(t.Context(), "")
		if err != nil || len(infos) != 21 || infos[20].Key != keys[20] {
			t.Errorf("%d locks are held while the 21st is waited for, %v", len(infos), err)
		}
		if err := blocker.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
