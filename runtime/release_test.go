package lockrt_test

import (
	"context"
	"errors"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Little is left of the lease, and the release has its time all the same.
func TestLease_Release_atTheEndOfTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		store.set(func(s *faultStore) {
			s.release = func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
				time.Sleep(ttlMargin / 2)
				return errors.Join(ctx.Err(), real.Release(ctx, rel))
			}
		})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: true})
		time.Sleep(ttl - ttlMargin - time.Millisecond)
		if err := lease.Release(t.Context()); err != nil {
			t.Errorf("release: %v", err)
		}
	})
}

// A lease that ran out is nothing to the store: it is not asked.
func TestLease_Release_afterTheDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		store.set(func(s *faultStore) {
			s.release = func(context.Context, lockrt.Release, lockrt.Session) error {
				t.Error("the store was asked")
				return lockrt.ErrLost
			}
		})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: true})
		time.Sleep(ttl + time.Second)
		if err := lease.Release(t.Context()); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("release: %v, want ErrLost", err)
		}
	})
}

// An Extend was done, and its answer lost. The lease ends at its deadline, and the store has it for an hour: unless it is
// released, or its Locker closed.
func TestLease_Release_afterAnUnansweredExtend(t *testing.T) {
	for _, o := range []lockrt.Options{{TTL: ttl}, {TTL: ttl, NoRenew: true}} {
		for _, end := range []func(*lockrt.Locker, *lockrt.Lease){
			func(_ *lockrt.Locker, lease *lockrt.Lease) { _ = lease.Release(context.Background()) },
			func(locks *lockrt.Locker, _ *lockrt.Lease) { _ = locks.Close(context.Background()) },
		} {
			bubble(t, func(t *testing.T, store *faultStore, others *lockrt.Locker) {
				locks := newLocker(t, store, lockrt.Config{})
				lease := mustAcquire(t, locks, t.Context(), "k", o)
				lost := func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
					real.Renew(ctx, renewals)
					return failAll(renewals, errors.New("the answer was lost"))
				}
				store.set(func(s *faultStore) { s.renew = lost })
				if err := lease.Extend(t.Context(), time.Hour); err == nil {
					t.Fatal("the answer was not lost")
				}
				if !o.NoRenew { // a later renewal that is answered makes the lease no shorter
					store.set(func(s *faultStore) { s.renew = nil })
					time.Sleep(ttl)
					store.set(func(s *faultStore) { s.renew = lost })
				}
				<-lease.Done()
				time.Sleep(3 * ttl)
				end(locks, lease)
				mustAcquire(t, others, t.Context(), "k", lockrt.Options{TTL: ttl})
			})
		}
	}
}

// The channel of a lease that has ended is closed for those too who ask for it later.
func TestLease_Done_askedForAfterTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case <-lease.Done():
		default:
			t.Error("the channel is open after the release")
		}
	})
}

// Somebody else is the holder, and no renewal has told of it yet.
func TestLease_Check_findsAnotherHolder(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		info, err := locks.Holder(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		stranger, err := store.Store.Open(lockrt.SessionConfig{Namespace: locks.Namespace()})
		if err != nil {
			t.Fatal(err)
		}
		if err := stranger.Release(t.Context(), lockrt.Release{Key: "k", ID: info.ID}); err != nil {
			t.Fatal(err)
		}
		if _, err := stranger.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "another", TTL: ttl}); err != nil {
			t.Fatal(err)
		}
		if err := lease.Check(t.Context()); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("check: %v, want ErrLost", err)
		}
	})
}

// A lease that has ended here may still be at the store, by a renewal without an answer. Its release has the time that a
// slow store takes.
func TestLease_Release_afterItsDeadlineAtASlowStore(t *testing.T) {
	for name, end := range map[string]func(*lockrt.Locker, *lockrt.Lease) error{
		"release": func(_ *lockrt.Locker, lease *lockrt.Lease) error { return lease.Release(context.Background()) },
		"close":   func(locks *lockrt.Locker, _ *lockrt.Lease) error { return locks.Close(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, others *lockrt.Locker) {
				locks := newLocker(t, store, lockrt.Config{})
				lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
				store.set(func(s *faultStore) {
					s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
						real.Renew(ctx, renewals)
						return failAll(renewals, errors.New("the answer was lost"))
					}
					s.release = func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
						select {
						case <-time.After(time.Second):
							return real.Release(ctx, rel)
						case <-ctx.Done():
							return ctx.Err()
						}
					}
				})
				_ = lease.Extend(t.Context(), time.Hour)
				<-lease.Done()
				if err := end(locks, lease); err != nil && !errors.Is(err, lockrt.ErrLost) {
					t.Error(err)
				}
				if _, err := others.TryAcquire(t.Context(), "k", lockrt.Options{TTL: ttl}); err != nil {
					t.Errorf("the next: %v", err)
				}
			})
		})
	}
}
