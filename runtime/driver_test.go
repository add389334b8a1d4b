package lockrt_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// What drivers must not do. A mistake in one must not become a lease without a fence or without an end, nor end the
// process.

func TestLocker_Acquire_driverGrantsNoEpoch(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		for _, epoch := range []uint64{0, 1 << 53, 1 << 63} {
			store.set(func(s *faultStore) {
				s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
					g, err := real.Acquire(ctx, req)
					g.Epoch = epoch
					return g, err
				}
			})
			lease, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl})
			if err == nil || errors.Is(err, lockrt.ErrBusy) || !strings.Contains(err.Error(), "driver") {
				t.Errorf("epoch %d: lease with fence %d, error %v; want one about the driver", epoch, lease.Fence(), err)
			}
		}
		store.set(func(s *faultStore) { s.acquire = nil })
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl}) // what was granted is given back
	})
}

func TestLocker_Acquire_driverGrantsInTheFuture(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				g, err := real.Acquire(ctx, req)
				g.Start = g.Start.Add(time.Hour)
				return g, err
			}
		})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		if left := time.Until(lease.Deadline()); left > ttl-ttlMargin {
			t.Errorf("the lease is believed in for %s, its TTL is %s", left, ttl)
		}
	})
}

func TestLease_renewal_driverForgetsResults(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		store.set(func(s *faultStore) {
			s.renew = func(context.Context, []lockrt.Renewal, lockrt.Session) []error { return nil }
		})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		began := time.Now()
		<-lease.Context().Done()
		if cause := context.Cause(lease.Context()); !errors.Is(cause, lockrt.ErrLost) || time.Since(began) != ttl-ttlMargin {
			t.Errorf("ended after %s with %v; want ErrLost at the deadline", time.Since(began), cause)
		}
	})
}

// A grant that nobody uses is given back without a word, and with one when that failed.
func TestLocker_Acquire_unusedGrant(t *testing.T) {
	for name, fails := range map[string]bool{"given back": false, "left to its TTL": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
				var log testsync.Log
				locks := newLocker(t, store, lockrt.Config{Logger: log.Logger()})
				store.set(func(s *faultStore) {
					s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
						g, err := real.Acquire(ctx, req)
						g.Epoch = 0
						return g, err
					}
					s.release = func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
						if fails {
							return errors.New("connection reset")
						}
						return real.Release(ctx, rel)
					}
				})
				_, _ = locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl})
				synctest.Wait()
				if told := strings.Contains(log.String(), "left to its TTL"); told != fails {
					t.Errorf("the release failed: %v; the log: %s", fails, log.String())
				}
				store.set(func(s *faultStore) { s.release = nil })
			})
		})
	}
}
