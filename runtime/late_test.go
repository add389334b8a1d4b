package lockrt_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestLocker_Acquire_grantThatArrivesLateIsRenewedBeforeUse(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				g, err := real.Acquire(ctx, req)
				time.Sleep(ttl / 2)
				return g, err
			}
		})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: true})
		if left := time.Until(lease.Deadline()); left != ttl-ttlMargin {
			t.Errorf("%s are left at the start, want %s", left, ttl-ttlMargin)
		}
	})
}

func TestLocker_Acquire_grantThatArrivesTooLateIsNotUsed(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		slow := func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
			g, err := real.Acquire(ctx, req)
			time.Sleep(2 * ttl)
			return g, err
		}
		store.set(func(s *faultStore) { s.acquire = slow })
		if lease, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl}); err == nil || errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("acquire gave %v, %v; want an error that is not ErrBusy", lease, err)
		}
		// Nor is one that a slow renewal does not make better.
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				g, err := real.Acquire(ctx, req)
				time.Sleep(ttl / 2)
				return g, err
			}
			s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
				errs := real.Renew(ctx, renewals)
				time.Sleep(ttl * 3 / 4)
				return errs
			}
		})
		if lease, err := locks.Acquire(t.Context(), "slow", lockrt.Options{TTL: ttl}); err == nil {
			t.Errorf("acquire gave a lease that ends in %s of %s", time.Until(lease.Deadline()), ttl)
		}
		// With time to wait it tries again.
		store.set(func(s *faultStore) { s.renew = nil })
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				s.acquire = nil
				return slow(ctx, req, real)
			}
		})
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, Wait: 5 * ttl})
	})
}

// A grant arrives late and is renewed. The renewal proves nothing when its answer comes after the grant's own end, and
// is of no use when it took so long itself that little is left.
func TestLocker_Acquire_lateGrantWhoseRenewalIsSlow(t *testing.T) {
	for name, test := range map[string]struct{ late, slow time.Duration }{
		"answered after the end of the grant": {ttl * 6 / 10, ttl * 45 / 100},
		"answered too late to be of use":      {ttl * 15 / 100, ttl * 6 / 10},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
				store.set(func(s *faultStore) {
					s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
						g, err := real.Acquire(ctx, req)
						time.Sleep(test.late)
						return g, err
					}
					s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
						errs := real.Renew(ctx, renewals)
						time.Sleep(test.slow)
						return errs
					}
				})
				lease, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl})
				if err == nil || errors.Is(err, lockrt.ErrBusy) {
					t.Errorf("acquired until %s from now, error %v; want one that is not ErrBusy", time.Until(lease.Deadline()), err)
				}
			})
		})
	}
}

// The answer to a request comes when the lease is over and the store has given the lock to others of this process. They
// keep it.
func TestLocker_Acquire_lateGrantEndsNoLaterOne(t *testing.T) {
	for _, mode := range []lockrt.Mode{lockrt.Write, lockrt.Read} {
		testsync.Bubble(t, func(t *testing.T) {
			store, locks := opened(t)
			var asked atomic.Int32
			store.set(func(s *faultStore) {
				s.acquire = func(c context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
					if asked.Add(1) == 1 {
						defer time.Sleep(4 * time.Second)
					}
					return real.Acquire(c, req)
				}
			})
			var late sync.WaitGroup
			late.Go(func() {
				if _, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: 3 * time.Second}); err == nil {
					t.Error("it has got what is another's")
				}
			})
			time.Sleep(3200 * time.Millisecond)
			lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour, Mode: mode})
			late.Wait()
			if err := lease.Release(t.Context()); err != nil {
				t.Errorf("mode %v: release: %v", mode, err)
			}
			closesAll(t, store, locks)
		})
	}
}

// A grant of which the store says that it is lost, before a lease has begun under it, goes to nobody else here.
func TestLocker_Acquire_lostGrantIsNotPassedOn(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		var renewals atomic.Int32
		store.set(func(s *faultStore) {
			s.acquire = func(c context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				g, err := real.Acquire(c, req)
				g.TTL = min(req.TTL, 30*time.Second)
				return g, err
			}
			s.renew = func(ctx context.Context, r []lockrt.Renewal, real lockrt.Session) []error {
				if renewals.Add(1) == 1 {
					return failAll(r, lockrt.ErrLost)
				}
				return real.Renew(ctx, r)
			}
		})
		first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Minute})
		var waiters sync.WaitGroup
		for _, noRenew := range []bool{true, false} { // the first one's renewal is lost
			waiters.Go(func() {
				o := lockrt.Options{TTL: time.Minute, Wait: time.Minute, NoRenew: noRenew}
				lease, err := locks.Acquire(t.Context(), "k", o)
				if err != nil {
					t.Errorf("acquire: %v", err)
					return
				}
				if lease.Fence().Epoch() == first.Fence().Epoch() {
					t.Errorf("no renewal %t: a lease under the grant that was lost", noRenew)
				}
				_ = lease.Release(t.Context())
			})
			time.Sleep(time.Millisecond)
		}
		_ = first.Release(t.Context())
		waiters.Wait()
		_ = locks.Close(t.Context())
	})
}
