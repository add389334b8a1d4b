package lockrt_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
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

// What was taken behind a key that is not free is given back at the same time, however slow the store is.
func TestLocker_AcquireAll_givesBackAtOnce(t *testing.T) {
	for _, late := range []time.Duration{50 * time.Millisecond, time.Hour} {
		testsync.Bubble(t, func(t *testing.T) {
			store, locks := opened(t)
			mustAcquire(t, newLocker(t, store, lockrt.Config{}), t.Context(), "k000", lockrt.Options{TTL: time.Hour})
			store.set(func(s *faultStore) { s.release = lateRelease(late) })
			var keys []string
			for i := range 1000 {
				keys = append(keys, fmt.Sprintf("k%03d", i))
			}
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := locks.AcquireAll(ctx, keys, lockrt.Options{TTL: time.Minute, Wait: time.Second})
			if took := time.Since(began); err == nil || took > time.Second+bound {
				t.Errorf("releases take %s: it returned after %s: %.100v", late, took, err)
			}
			store.set(func(s *faultStore) { s.release = nil })
			_ = locks.Close(t.Context())
		})
	}
}

// A set that was not got ends with its context and its wait, at a store that does not answer releases.
func TestLocker_AcquireAll_endsInTime(t *testing.T) {
	for name, c := range map[string]struct {
		keys, silent int
		wait         time.Duration
	}{
		"at once, nothing held":        {8, 0, lockrt.Forever},
		"at once, some held":           {8, 3, lockrt.Forever},
		"at once, by the wait":         {8, 3, time.Second},
		"one after another":            {2, 1, lockrt.Forever},
		"one after another, by a wait": {2, 1, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				store, locks := opened(t)
				var keys []string
				for i := range c.keys {
					keys = append(keys, fmt.Sprint(i))
				}
				store.set(func(s *faultStore) {
					s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
						if req.Key != keys[c.silent] {
							return real.Acquire(ctx, req)
						}
						limit := time.NewTimer(min(req.Wait, time.Hour))
						defer limit.Stop()
						select {
						case <-ctx.Done():
						case <-limit.C:
						}
						return lockrt.Grant{}, errors.Join(errors.New("no answer"), ctx.Err())
					}
					s.release = lateRelease(time.Hour)
				})
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				began := time.Now()
				_, err := locks.AcquireAll(ctx, keys, lockrt.Options{TTL: time.Minute, Wait: c.wait})
				if late := time.Since(began) - min(c.wait, 2*time.Second); err == nil || late > bound {
					t.Errorf("%s late: %v", late, err)
				}
				store.set(func(s *faultStore) { s.release, s.acquire = nil, nil })
				_ = locks.Close(t.Context())
			})
		})
	}
}
