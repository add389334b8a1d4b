package lockrt_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// This file is about grants whose order is not that of their requests, their answers or their fences.

// Two callers ask past each other: what was asked for first is granted last, and what was granted first is answered last.
func TestLocker_Acquire_lateGrantOfAYoungerRequest(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		var asked atomic.Int32
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				sent, first := time.Now(), asked.Add(1) == 1
				if first {
					time.Sleep(1500 * time.Millisecond) // on its way to the store
				}
				g, err := real.Acquire(ctx, req)
				if !first {
					time.Sleep(2 * time.Second) // on its way back
				}
				g.Start = sent
				return g, err
			}
		})
		var lease *lockrt.Lease
		var calls sync.WaitGroup
		calls.Go(func() { lease = mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Minute}) })
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		calls.Go(func() {
			if _, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: time.Second}); err == nil {
				t.Error("the late answer is a lease")
			}
		})
		calls.Wait()
		if err := lease.Release(t.Context()); err != nil {
			t.Errorf("release of the lease that the store has: %v", err)
		}
		closesAll(t, store, locks)
	})
}

// A store that has lost its data counts anew: a lower fence is the later one, of whatever kind the lease is.
func TestLocker_Acquire_lowerFenceBehindALoss(t *testing.T) {
	for before, o := range map[string]lockrt.Options{"write": {}, "read": {Mode: lockrt.Read}, "permit": {Permits: 2}} {
		for _, next := range []lockrt.Options{{}, {Mode: lockrt.Read}, {Permits: 3}} {
			testsync.Bubble(t, func(t *testing.T) {
				store, locks := opened(t)
				var lost atomic.Bool
				var asked atomic.Int32
				store.set(func(s *faultStore) {
					s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
						time.Sleep(time.Millisecond)
						if lost.Load() {
							asked.Add(1)
							return lockrt.Grant{Epoch: 1, Start: time.Now()}, nil
						}
						g, err := real.Acquire(ctx, req)
						g.Epoch += 1000
						return g, err
					}
					s.release = func(context.Context, lockrt.Release, lockrt.Session) error { return nil }
				})
				o.TTL, next.TTL = time.Hour, time.Hour
				mustAcquire(t, locks, t.Context(), "k", o)
				time.Sleep(time.Second)
				lost.Store(true)
				lease, err := locks.TryAcquire(t.Context(), "k", next) // busy where the local queue knows of the lease
				if err == nil {
					_ = lease.Release(t.Context())
				} else if !errors.Is(err, lockrt.ErrBusy) {
					t.Errorf("%s, then %+v: %v", before, next, err)
				}
				if n := asked.Load(); n > 1 {
					t.Errorf("%s, then %+v: the store was asked %d times", before, next, n)
				}
				_ = locks.Close(t.Context())
			})
		}
	}
}

// A caller leaves its place to one with a shorter TTL, and the store grants it in between, for the longer one. Nobody says
// that it is free while the store has it.
func TestLocker_Close_placeWithALongerTTL(t *testing.T) {
	for _, release := range []bool{true, false} {
		testsync.Bubble(t, func(t *testing.T) {
			store, locks := opened(t)
			other := newLocker(t, store, lockrt.Config{})
			held := mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: time.Hour})
			asked := make(map[string]bool)
			store.set(func(s *faultStore) {
				s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
					if asked[req.ID] {
						mustRelease(t, held)
					}
					asked[req.ID] = true
					return real.Acquire(ctx, req)
				}
			})
			go func() { _, _ = locks.Acquire(t.Context(), "k", lockrt.Options{TTL: time.Hour, Wait: time.Second}) }()
			synctest.Wait()
			o := lockrt.Options{TTL: time.Second, NoRenew: true, Wait: time.Minute}
			lease := mustAcquire(t, locks, t.Context(), "k", o)
			time.Sleep(2 * time.Second) // it is lost at its deadline
			if release {
				if err := lease.Release(t.Context()); !errors.Is(err, lockrt.ErrLost) {
					t.Error(err)
				}
			}
			if err := locks.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if info, err := other.Holder(t.Context(), "k"); err == nil {
				t.Errorf("released %t: the lock stays for %s", release, info.Remaining)
			}
		})
	}
}

// An Extend that the store does late, and whose answer is lost.
func TestLocker_Close_lateExtend(t *testing.T) {
	for _, release := range []bool{true, false} {
		testsync.Bubble(t, func(t *testing.T) {
			store, locks := opened(t)
			other := newLocker(t, store, lockrt.Config{})
			lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: 10 * time.Second, NoRenew: true})
			time.Sleep(5 * time.Second)
			store.set(func(s *faultStore) {
				s.renew = func(ctx context.Context, r []lockrt.Renewal, real lockrt.Session) []error {
					time.Sleep(4 * time.Second)
					_ = real.Renew(ctx, r)
					<-ctx.Done()
					return failAll(r, ctx.Err())
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
			defer cancel()
			_ = lease.Extend(ctx, 6*time.Second)
			time.Sleep(2 * time.Second) // it is lost at its deadline
			if release {
				_ = lease.Release(t.Context())
			}
			if err := locks.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if info, err := other.Holder(t.Context(), "k"); err == nil {
				t.Errorf("released %t: the lock stays for %s", release, info.Remaining)
			}
		})
	}
}

// breaksTheFirst lets the first grant come so late that it is renewed, and breaks it then.
func breaksTheFirst(store *sharingStore, others *lockrt.Locker) {
	var slow, breaks sync.Once
	store.set(func(s *faultStore) {
		s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
			g, err := real.Acquire(ctx, req)
			slow.Do(func() { time.Sleep(ttl / 2) })
			return g, err
		}
		s.renew = func(ctx context.Context, r []lockrt.Renewal, real lockrt.Session) []error {
			errs := real.Renew(ctx, r)
			breaks.Do(func() { _ = others.Break(ctx, "k", "test") })
			return errs
		}
	})
}

// A grant that was broken before its lease begins is asked for again while there is time.
func TestLocker_Acquire_brokenBeforeItBegins(t *testing.T) {
	for _, handoffs := range []int{0, -1} {
		testsync.Bubble(t, func(t *testing.T) {
			store := &sharingStore{faultStore: &faultStore{Store: memstore.New()}}
			locks := newLocker(t, store, lockrt.Config{LocalHandoffs: handoffs})
			others := newLocker(t, store.Store, lockrt.Config{})
			breaksTheFirst(store, others)
			lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, Wait: time.Minute})
			if err := lease.Release(t.Context()); err != nil {
				t.Errorf("handoffs %d: %v", handoffs, err)
			}
		})
	}
}

// A store whose grants are all lost is asked until the end of the wait, and not all the time.
func TestLocker_Acquire_asksAgainWithPauses(t *testing.T) {
	for _, handoffs := range []int{0, -1} {
		testsync.Bubble(t, func(t *testing.T) {
			store := &sharingStore{faultStore: &faultStore{Store: memstore.New()}}
			locks := newLocker(t, store, lockrt.Config{LocalHandoffs: handoffs})
			var asked atomic.Int32
			store.set(func(s *faultStore) {
				s.acquire = func(context.Context, lockrt.Request, lockrt.Session) (lockrt.Grant, error) {
					asked.Add(1)
					time.Sleep(time.Millisecond)
					return lockrt.Grant{}, lockrt.ErrLost
				}
			})
			began := time.Now()
			_, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: 10 * time.Second})
			if took := time.Since(began); !errors.Is(err, lockrt.ErrLost) || took > 10*time.Second+bound {
				t.Errorf("%v after %s", err, took)
			}
			if n := asked.Load(); n > 150 {
				t.Errorf("the store was asked %d times in 10 s", n)
			}
		})
	}
}

// What an Extend under way may still do counts, also where it asks for less than is left.
func TestLocker_Close_extendUnderWay(t *testing.T) {
	for _, at := range []time.Duration{10200 * time.Millisecond, 11 * time.Second} {
		testsync.Bubble(t, func(t *testing.T) {
			store, locks := opened(t)
			other := newLocker(t, store, lockrt.Config{})
			began := time.Now()
			lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: 10 * time.Second, NoRenew: true})
			time.Sleep(5500 * time.Millisecond)
			store.set(func(s *faultStore) {
				s.renew = func(ctx context.Context, r []lockrt.Renewal, real lockrt.Session) []error {
					time.Sleep(4300 * time.Millisecond) // it lives at the store still
					_ = real.Renew(ctx, r)
					<-ctx.Done()
					return failAll(r, ctx.Err())
				}
			})
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), 4900*time.Millisecond)
				defer cancel()
				_ = lease.Extend(ctx, 4*time.Second)
			}()
			time.Sleep(time.Until(began.Add(at)))
			if err := locks.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if info, err := other.Holder(t.Context(), "k"); err == nil {
				t.Errorf("closed after %s, the lock stays for %s", at, info.Remaining)
			}
		})
	}
}

// A renewal that was slow counts at the store from when that has done it.
func TestLocker_Close_slowRenewal(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		other := newLocker(t, store, lockrt.Config{})
		store.set(func(s *faultStore) {
			s.renew = func(ctx context.Context, r []lockrt.Renewal, real lockrt.Session) []error {
				time.Sleep(600 * time.Millisecond)
				return real.Renew(ctx, r)
			}
		})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: 4 * time.Second})
		for first := lease.Deadline(); lease.Deadline().Equal(first); {
			time.Sleep(time.Millisecond)
		}
		store.set(func(s *faultStore) { s.release = lateRelease(time.Hour) })
		err := locks.Close(t.Context())
		if info, held := other.Holder(t.Context(), "k"); held == nil && err == nil {
			t.Errorf("Close returned nil, and the lock stays for %s", info.Remaining)
		}
	})
}

// A renewal that nobody answers takes no longer than the wait of the caller who has it made.
func TestLocker_Acquire_renewalBeyondTheWait(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				g, err := real.Acquire(ctx, req)
				time.Sleep(200 * time.Millisecond)
				return g, err
			}
			s.renew = func(ctx context.Context, r []lockrt.Renewal, _ lockrt.Session) []error {
				<-ctx.Done()
				return failAll(r, ctx.Err())
			}
		})
		began := time.Now()
		_, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: time.Second, Wait: 500 * time.Millisecond})
		if took := time.Since(began); err == nil || took > 500*time.Millisecond+bound {
			t.Errorf("%v after %s", err, took)
		}
		store.set(func(s *faultStore) { s.acquire, s.renew = nil, nil })
		closesAll(t, store, locks)
	})
}

// A caller who was in the local queue asks again, too, after a grant that was broken before its lease began.
func TestLocker_Acquire_brokenBeforeItBeginsBehindAnother(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		others := newLocker(t, store.Store, lockrt.Config{})
		first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		breaksTheFirst(store, others)
		var calls sync.WaitGroup
		calls.Go(func() {
			lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, Wait: time.Minute})
			_ = lease.Release(t.Context())
		})
		synctest.Wait()
		time.Sleep(20 * time.Millisecond) // behind the time for local hand-offs
		_ = first.Release(t.Context())
		calls.Wait()
		closesAll(t, store, locks)
	})
}
