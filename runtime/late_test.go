package lockrt_test

import (
	"context"
	"errors"
	"testing"
	"time"

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
