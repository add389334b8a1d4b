package lockrt_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// A Break overtakes the answer to the acquire of the lease that it ends. The caller never works under that lease; it
// goes on waiting, or hears that it was lost.
func TestLocker_Break_crossesItsGrant(t *testing.T) {
	for name, wait := range map[string]time.Duration{"waits": time.Hour, "tries": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &faultStore{Store: memstore.New()}
				locks := newLocker(t, store, lockrt.Config{})
				ops := newLocker(t, store.Store, lockrt.Config{Node: "ops"})
				granted, answer := make(chan struct{}, 9), make(chan struct{})
				store.set(func(s *faultStore) {
					s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
						g, err := real.Acquire(ctx, req)
						granted <- struct{}{}
						<-answer
						return g, err
					}
				})
				type result struct {
					lease *lockrt.Lease
					err   error
				}
				done := make(chan result, 1)
				go func() {
					lease, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: wait})
					done <- result{lease, err}
				}()
				<-granted
				broken, err := ops.Holder(t.Context(), "k")
				if err != nil {
					t.Fatal(err)
				}
				if err := ops.Break(t.Context(), "k", "test"); err != nil {
					t.Fatal(err)
				}
				close(answer)
				r := <-done
				if wait == 0 {
					if !errors.Is(r.err, lockrt.ErrLost) || errors.Is(r.err, lockrt.ErrBusy) {
						t.Errorf("the error is %v, want ErrLost", r.err)
					}
					return
				}
				if r.err != nil || r.lease.Err() != nil || r.lease.Fence() <= broken.Fence {
					t.Errorf("got %v (%v) with a fence of %d, broken was %d", r.lease.Err(), r.err, r.lease.Fence(), broken.Fence)
				}
			})
		})
	}
}

// A store that forgot gives a lock again. Within one process the earlier lease ends before the later begins.
func TestLocker_Acquire_endsAnEarlierLeaseOnTheKey(t *testing.T) {
	for name, cfg := range map[string]lockrt.Config{"in the queue": {}, "strict": {LocalHandoffs: -1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &faultStore{Store: memstore.New()}
				locks := newLocker(t, store, cfg)
				first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: true})
				forget(t, store.Store, "k")
				time.Sleep(20 * time.Millisecond)
				second := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, Wait: ttl})
				if !errors.Is(first.Err(), lockrt.ErrLost) || first.Context().Err() == nil {
					t.Errorf("the earlier lease is %v beside the later", first.Err())
				}
				if second.Err() != nil {
					t.Errorf("the later lease is %v", second.Err())
				}
			})
		})
	}
}

// forget takes a lock from the store as if it had never been held: nobody is told.
func forget(t *testing.T, store *memstore.Store, key string) {
	t.Helper()
	s, err := store.Open(lockrt.SessionConfig{Namespace: "lock", Logger: quiet(), Lost: func(string, error) {}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.(lockrt.Inspector).Inspect(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), lockrt.Release{Key: key, ID: info.ID}); err != nil {
		t.Fatal(err)
	}
}

// The store gives less than was asked: the lease is believed in for that long, and renewed to the whole TTL.
func TestGrant_TTL(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		const gave = ttl / 5
		renewed := make(chan lockrt.Renewal, 9)
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				g, err := real.Acquire(ctx, req)
				g.TTL = gave
				return g, err
			}
			s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
				renewed <- renewals[0]
				return real.Renew(ctx, renewals)
			}
		})
		began := time.Now()
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		if d := lease.Deadline().Sub(began); d >= gave {
			t.Errorf("the lease is believed in for %s of %s", d, gave)
		}
		if r := <-renewed; r.TTL != ttl || time.Since(began) > gave/2 {
			t.Errorf("renewed to %s after %s", r.TTL, time.Since(began))
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Nobody will renew this one: it gets its whole TTL before it begins.
		began = time.Now()
		alone := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: true})
		if d := alone.Deadline().Sub(began); d < ttl-ttlMargin {
			t.Errorf("a lease that is not renewed is believed in for %s of %s", d, ttl)
		}
	})
}

// The store gives no lease more than a maximum: renewals ask for that, callers of one TTL go on passing the lease on, and
// who wants more is told.
func TestGrant_MaxTTL(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		const most = ttl / 5
		errLong := errors.New("longer than the session")
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				req.TTL = min(req.TTL, most)
				g, err := real.Acquire(ctx, req)
				g.TTL, g.MaxTTL = req.TTL, most
				return g, err
			}
			s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
				if renewals[0].TTL > most {
					return []error{errLong}
				}
				return real.Renew(ctx, renewals)
			}
		})
		began := time.Now()
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		next := make(chan *lockrt.Lease, 1)
		go func() {
			lease, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever})
			if err != nil {
				t.Error(err)
			}
			next <- lease
		}()
		synctest.Wait()
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		passed := <-next
		if passed.Fence() != lease.Fence()+1 {
			t.Errorf("fence %d after %d: the lease was not passed on", passed.Fence(), lease.Fence())
		}
		time.Sleep(3 * most)
		if err := passed.Err(); err != nil {
			t.Errorf("the lease was lost although it could be renewed: %v", err)
		}
		if d := time.Until(passed.Deadline()); d >= most {
			t.Errorf("after %s the lease is believed in for %s, want less than %s", time.Since(began), d, most)
		}
		if err := passed.Extend(t.Context(), ttl); !errors.Is(err, errLong) {
			t.Errorf("extend beyond the maximum: %v, want the store's error", err)
		}
	})
}

// A lease that is not to be renewed lasts its TTL, also where the store gives less at a time.
func TestGrant_MaxTTL_noRenew(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		const most = ttl / 5
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				req.TTL = min(req.TTL, most)
				g, err := real.Acquire(ctx, req)
				g.MaxTTL = most
				return g, err
			}
		})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: true})
		time.Sleep(ttl * 9 / 10)
		if err := lease.Err(); err != nil {
			t.Errorf("after nine tenths of its TTL: %v", err)
		}
		time.Sleep(ttl / 10)
		if err := lease.Err(); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("after its TTL: %v, want ErrLost", err)
		}
		again := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: most, NoRenew: true, Wait: lockrt.Forever})
		time.Sleep(most)
		if err := again.Err(); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("after a TTL that the store gives: %v, want ErrLost", err)
		}
	})
}

// The timer may come late. Whoever asks the context hears what the clock says.
func TestLease_Context_errLooksAtTheClock(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: true})
		if !lockrt.StopTimers(locks) {
			t.Fatal("no timer is set for the deadline")
		}
		if err := lease.Context().Err(); err != nil {
			t.Errorf("before the deadline: %v", err)
		}
		time.Sleep(ttl)
		if err := lease.Context().Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("after the deadline the context's error is %v", err)
		}
		if cause := context.Cause(lease.Context()); !errors.Is(cause, lockrt.ErrLost) {
			t.Errorf("the cause is %v, want ErrLost", cause)
		}
	})
}

// The timer of a MaxHold may come late, too.
func TestLease_Err_looksAtTheClockForMaxHold(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, MaxHold: time.Second})
		if !lockrt.StopMaxHold(lease) {
			t.Fatal("no timer is set for the MaxHold")
		}
		time.Sleep(time.Second)
		if err := lease.Context().Err(); !errors.Is(err, context.Canceled) || !errors.Is(lease.Err(), lockrt.ErrLost) {
			t.Errorf("after its MaxHold the lease is %v and its context %v", lease.Err(), err)
		}
	})
}
