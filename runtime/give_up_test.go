package lockrt_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// This file is how several locks are given up.

// One lease of the set is lost, and the release of another one is refused.
func TestLocker_AcquireAll_tellsOfLocksBesideALoss(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store := &sharingStore{faultStore: &faultStore{Store: memstore.New()}}
		var log testsync.Log
		locks, err := lockrt.New(store, lockrt.Config{Logger: log.Logger()})
		if err != nil {
			t.Fatal(err)
		}
		blocker := mustAcquire(t, newLocker(t, store, lockrt.Config{}), t.Context(), "c", lockrt.Options{TTL: time.Hour})
		var all sync.WaitGroup
		all.Go(func() {
			_, err := locks.AcquireAll(t.Context(), []string{"a", "b", "c"}, lockrt.Options{TTL: time.Hour, Wait: time.Minute})
			if !errors.Is(err, lockrt.ErrLost) {
				t.Errorf("a lock was broken, and the call ends with %v", err)
			}
		})
		time.Sleep(time.Second)
		store.set(refuses) // the release of b is refused
		_ = locks.Break(t.Context(), "a", "test")
		all.Wait()
		time.Sleep(time.Second)
		if _, err := locks.Holder(t.Context(), "b"); err == nil && !strings.Contains(log.String(), "not released yet") {
			t.Errorf("b stays for an hour, and the log is\n%s", log.String())
		}
		store.set(takesAll)
		_ = locks.Close(t.Context())
		_ = blocker.Release(t.Context())
	})
}

// A lease of the set reaches its MaxHold while the call waits: the store has it still, and refuses its release.
func TestLocker_AcquireAll_tellsOfLocksThatMaxHoldHasEnded(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store := &sharingStore{faultStore: &faultStore{Store: memstore.New()}}
		var log testsync.Log
		locks, err := lockrt.New(store, lockrt.Config{Logger: log.Logger()})
		if err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, newLocker(t, store, lockrt.Config{}), t.Context(), "b", lockrt.Options{TTL: time.Hour})
		store.set(refuses)
		o := lockrt.Options{TTL: time.Hour, MaxHold: time.Second, Wait: time.Minute}
		if _, err := locks.AcquireAll(t.Context(), []string{"a", "b"}, o); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("its MaxHold has ended one lock, and the call ends with %v", err)
		}
		synctest.Wait()
		if !strings.Contains(log.String(), "not released yet") {
			t.Errorf("a stays for an hour, and the log is\n%s", log.String())
		}
		store.set(takesAll)
		_ = locks.Close(t.Context())
	})
}

// Answers to tries are slow: the set ends with its wait, and not each key with a try of its own.
func TestLocker_AcquireAll_endsWithItsWait(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				d := 4 * time.Second
				if req.Wait > 0 {
					d = min(d, req.Wait) // a driver that ends with the wait
				}
				time.Sleep(d)
				return real.Acquire(ctx, req)
			}
		})
		began := time.Now()
		_, err := locks.AcquireAll(t.Context(), []string{"a", "b", "c", "d", "e", "f", "g"}, lockrt.Options{TTL: time.Hour, Wait: 100 * time.Millisecond})
		if took := time.Since(began); took > time.Second {
			t.Errorf("with a wait of 100 ms for all keys it took %s (%v)", took, err)
		}
		_ = locks.Close(t.Context())
	})
}

// slowAcquire is a store that answers each request after a time, whatever its limits.
func slowAcquire(d time.Duration) func(context.Context, lockrt.Request, lockrt.Session) (lockrt.Grant, error) {
	return func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
		time.Sleep(d)
		return real.Acquire(ctx, req)
	}
}

// A driver may take a moment more than the wait for a question: several keys must not add up to that many moments.
func TestLocker_AcquireAll_momentsDoNotAddUp(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		store.set(func(s *faultStore) { s.acquire = slowAcquire(40 * time.Millisecond) })
		began := time.Now()
		_, err := locks.AcquireAll(t.Context(), strings.Split("abcdefg", ""), lockrt.Options{TTL: time.Hour, Wait: 10 * time.Millisecond})
		if took := time.Since(began); err == nil || took > 110*time.Millisecond {
			t.Errorf("with a wait of 10 ms it took %s (%v)", took, err)
		}
		_ = locks.Close(t.Context())
	})
}

// Without a wait each key has a try of some seconds, and not so all of them.
func TestLocker_AcquireAll_slowTries(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		store.set(func(s *faultStore) { s.acquire = slowAcquire(4 * time.Second) })
		began := time.Now()
		_, err := locks.AcquireAll(t.Context(), strings.Split("abcdefg", ""), lockrt.Options{TTL: time.Hour})
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "slow answers") || took > 9*time.Second {
			t.Errorf("it took %s, and ends with %v", took, err)
		}
		_ = locks.Close(t.Context())
	})
}

// A driver panics in a goroutine of a call for several locks. Nobody could recover from that there.
func TestLocker_AcquireAll_driverPanicsInItsGoroutines(t *testing.T) {
	panics := func(context.Context, lockrt.Release, lockrt.Session) error { panic("driver") }
	run := func(name string, f func(t *testing.T, store *sharingStore, locks *lockrt.Locker)) {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				store, locks := opened(t)
				f(t, store, locks)
				store.set(func(s *faultStore) { s.acquire, s.release = nil, nil })
				if err := locks.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
	run("in Release", func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		leases, err := locks.AcquireAll(t.Context(), []string{"a", "b"}, lockrt.Options{TTL: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		store.set(func(s *faultStore) { s.release = panics })
		if err := leases.Release(t.Context()); err == nil || strings.Count(err.Error(), "the store panicked") != 2 {
			t.Errorf("release: %v, want two panics", err)
		}
	})
	run("in giving up", func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		mustAcquire(t, locks, t.Context(), "b", lockrt.Options{TTL: time.Hour})
		store.set(func(s *faultStore) { s.release = panics })
		if _, err := locks.AcquireAll(t.Context(), []string{"a", "b"}, lockrt.Options{TTL: time.Hour}); !errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("one lock is taken: %v", err)
		}
	})
	run("in tries at once", func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		store.set(func(s *faultStore) {
			s.acquire = func(context.Context, lockrt.Request, lockrt.Session) (lockrt.Grant, error) { panic("driver") }
		})
		defer func() {
			if p := recover(); p != "driver" {
				t.Errorf("the caller hears %v", p)
			}
		}()
		_, err := locks.AcquireAll(t.Context(), strings.Split("abcdefgh", ""), lockrt.Options{TTL: time.Hour, Wait: time.Second})
		t.Errorf("the driver panics, and the call ends with %v", err)
	})
	run("in giving back", func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		mustAcquire(t, locks, t.Context(), "d", lockrt.Options{TTL: time.Hour})
		store.set(func(s *faultStore) { s.release = panics })
		if _, err := locks.AcquireAll(t.Context(), strings.Split("abcdefgh", ""),
			lockrt.Options{TTL: time.Hour, Wait: time.Second}); !errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("one lock is taken: %v", err)
		}
	})
}
