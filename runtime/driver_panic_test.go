package lockrt_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// This file is about drivers that panic, or end the goroutine that calls them, once.

func twoEnds() map[string]func() {
	return map[string]func(){"panics": func() { panic("driver") }, "exits": runtime.Goexit}
}

// apart runs what may not return, and returns when it has ended.
func apart(f func()) {
	var over sync.WaitGroup
	over.Go(func() { _ = recovered(f) })
	over.Wait()
}

func TestLocker_Acquire_driverPanics(t *testing.T) {
	for name, end := range twoEnds() {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				store, locks := opened(t)
				var asked atomic.Int32
				store.set(func(s *faultStore) {
					s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
						if asked.Add(1) == 1 {
							end()
						}
						return real.Acquire(ctx, req)
					}
				})
				o := lockrt.Options{TTL: ttl, Wait: time.Second}
				apart(func() { _, _ = locks.Acquire(t.Context(), "k", o) })
				lease := mustAcquire(t, locks, t.Context(), "k", o) // the next in the queue asks
				if err := lease.Release(t.Context()); err != nil {
					t.Error(err)
				}
				closesAll(t, store, locks)
			})
		})
	}
}

// The locks that it had come free.
func TestLocker_AcquireAll_driverPanics(t *testing.T) {
	for name, end := range twoEnds() {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				store, locks := opened(t)
				store.set(func(s *faultStore) {
					s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
						if req.Key == "c" {
							end()
						}
						return real.Acquire(ctx, req)
					}
				})
				apart(func() { _, _ = locks.AcquireAll(t.Context(), []string{"a", "b", "c"}, lockrt.Options{TTL: ttl}) })
				for _, key := range []string{"a", "b"} {
					if _, err := locks.Holder(t.Context(), key); err == nil {
						t.Errorf("%s is held", key)
					}
				}
				closesAll(t, store, locks)
			})
		})
	}
}

// The leases of a renewal that does not return are renewed by the next.
func TestLocker_renewalExits(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		var once sync.Once
		store.set(func(s *faultStore) {
			s.renew = func(ctx context.Context, r []lockrt.Renewal, real lockrt.Session) []error {
				once.Do(runtime.Goexit)
				return real.Renew(ctx, r)
			}
		})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		time.Sleep(time.Minute)
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
		closesAll(t, store, locks)
	})
}

// A grant that was passed on is given back where the driver panics before its lease begins.
func TestLocker_Acquire_driverPanicsForAPassedOne(t *testing.T) {
	for name, end := range twoEnds() {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				store := &sharingStore{faultStore: &faultStore{Store: memstore.New()}}
				locks := newLocker(t, store, lockrt.Config{LocalHandoffTime: time.Minute})
				o := lockrt.Options{TTL: 10 * time.Second, Wait: 10 * time.Minute}
				first := mustAcquire(t, locks, t.Context(), "k", o)
				time.Sleep(1200 * time.Millisecond) // so that it is renewed first, by who gets it
				go apart(func() { _, _ = locks.Acquire(t.Context(), "k", o) })
				synctest.Wait()
				var once sync.Once
				store.set(func(s *faultStore) {
					s.renew = func(ctx context.Context, r []lockrt.Renewal, real lockrt.Session) []error {
						once.Do(end)
						return real.Renew(ctx, r)
					}
				})
				_ = first.Release(t.Context())
				time.Sleep(time.Second)
				if err := mustAcquire(t, locks, t.Context(), "k", o).Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A set of many keys ends also where the driver ends each of its calls.
func TestLocker_AcquireAll_driverExitsOften(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		store.set(func(s *faultStore) {
			s.acquire = func(context.Context, lockrt.Request, lockrt.Session) (lockrt.Grant, error) {
				runtime.Goexit()
				panic("unreachable")
			}
		})
		keys := make([]string, 300)
		for i := range keys {
			keys[i] = fmt.Sprint(i)
		}
		apart(func() { _, _ = locks.AcquireAll(t.Context(), keys, lockrt.Options{TTL: ttl, Wait: time.Second}) })
		store.set(func(s *faultStore) { s.acquire = nil })
		closesAll(t, store, locks)
	})
}

// The store has done a release in which the driver dies: who waits for the lock here asks at once.
func TestLease_Release_driverDiesBeforeWaiters(t *testing.T) {
	for name, dies := range twoEnds() {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				store := &sharingStore{faultStore: &faultStore{Store: memstore.New()}}
				locks, err := lockrt.New(store, lockrt.Config{Logger: quiet(), LocalHandoffTime: 5 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				o := lockrt.Options{TTL: 10 * time.Second, MinHold: 100 * time.Millisecond, Wait: time.Hour}
				holder := mustAcquire(t, locks, t.Context(), "k", o)
				served := make(chan time.Time, 1)
				go func() {
					lease, err := locks.Acquire(t.Context(), "k", o)
					if err != nil {
						t.Error(err)
					}
					served <- time.Now()
					_ = lease.Release(t.Context())
				}()
				synctest.Wait()
				store.set(func(s *faultStore) {
					s.release = func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
						store.set(takesAll) // it dies once
						_ = real.Release(ctx, rel)
						dies()
						return nil
					}
				})
				began := time.Now()
				go func() {
					defer func() { _ = recover() }()
					_ = holder.Release(t.Context())
				}()
				if at := <-served; at.Sub(began) > time.Second {
					t.Errorf("the lock is free for %s, and somebody waits for it", at.Sub(began))
				}
				_ = locks.Close(t.Context())
			})
		})
	}
}
