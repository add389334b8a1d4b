package lockrt_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// Close goes by what is at the store, and not by who was to give it back.

// opened is a Locker whose end is the test's matter, on a store with faults for readers too.
func opened(t *testing.T) (*sharingStore, *lockrt.Locker) {
	t.Helper()
	store := &sharingStore{faultStore: &faultStore{Store: memstore.New()}}
	locks, err := lockrt.New(store, lockrt.Config{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	return store, locks
}

func refuses(s *faultStore) {
	s.release = func(context.Context, lockrt.Release, lockrt.Session) error { return errors.New("refused") }
}

func takesAll(s *faultStore) { s.release = nil }

// closesAll closes a Locker and looks whether anything is left.
func closesAll(t *testing.T, store lockrt.Store, locks *lockrt.Locker) {
	t.Helper()
	if err := locks.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	leavesNothing(t, store)
}

func leavesNothing(t *testing.T, store lockrt.Store) {
	t.Helper()
	left, err := newLocker(t, store, lockrt.Config{}).List(t.Context(), "")
	if err != nil || len(left) > 0 {
		t.Errorf("%d locks are left (%v)", len(left), err)
	}
}

// One of two readers releases in the moment in which Close looks for who holds the lock.
func TestLocker_Close_readerThatReleasesMeanwhile(t *testing.T) {
	const keys = 300
	for range 5 {
		testsync.Bubble(t, func(t *testing.T) {
			store, locks := opened(t)
			var all sync.WaitGroup
			o := lockrt.Options{TTL: time.Hour, Mode: lockrt.Read}
			var first []*lockrt.Lease
			for i := range keys {
				first = append(first, mustAcquire(t, locks, t.Context(), fmt.Sprint(i), o))
				mustAcquire(t, locks, t.Context(), fmt.Sprint(i), o)
			}
			for _, lease := range first {
				all.Go(func() { _ = lease.Release(t.Context()) })
			}
			closesAll(t, store, locks)
			all.Wait()
		})
	}
}

// tardyContext is slow to say what a lease's context asks for when it begins.
type tardyContext struct {
	context.Context
	slow *atomic.Bool
}

func (c tardyContext) Value(key any) any {
	if c.slow.Load() && strings.Contains(fmt.Sprintf("%T", key), "leaseKey") {
		time.Sleep(time.Second)
	}
	return c.Context.Value(key)
}

// Leases begin while Close looks for who holds the lock: they end as the others do, and nothing is left of them.
func TestLocker_Close_leasesThatBeginMeanwhile(t *testing.T) {
	for _, mode := range []lockrt.Mode{lockrt.Write, lockrt.Read} {
		testsync.Bubble(t, func(t *testing.T) {
			store, locks := opened(t)
			ctx := tardyContext{t.Context(), new(atomic.Bool)}
			store.set(func(s *faultStore) {
				s.acquire = func(c context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
					time.Sleep(100 * time.Millisecond)
					ctx.slow.Store(true)
					return real.Acquire(c, req)
				}
			})
			var acquires sync.WaitGroup
			users := 1
			if mode == lockrt.Read {
				users = 2
			}
			leases := make([]*lockrt.Lease, users)
			for i := range users {
				acquires.Go(func() {
					leases[i], _ = locks.Acquire(ctx, "k", lockrt.Options{TTL: 10 * time.Second, Wait: time.Hour, Mode: mode})
				})
			}
			time.Sleep(500 * time.Millisecond)
			closesAll(t, store, locks)
			acquires.Wait()
			for _, lease := range leases {
				if lease == nil {
					t.Fatal("it was to begin before it saw that the Locker closes")
				}
				cause := context.Cause(lease.Context())
				if !errors.Is(cause, lockrt.ErrLost) || !errors.Is(cause, lockrt.ErrClosed) {
					t.Errorf("the lease ended with %v", cause)
				}
			}
		})
	}
}

// Releases have failed before Close. It does them, and says nothing, or they fail again, and it says so.
func TestLocker_Close_releasesThatFailedBefore(t *testing.T) {
	hour := lockrt.Options{TTL: time.Hour}
	reader, short := hour, hour
	reader.Mode = lockrt.Read
	short.Mode, short.MaxHold = lockrt.Read, time.Second
	for name, fail := range map[string]func(*testing.T, *sharingStore, *lockrt.Locker){
		"a writer's": func(t *testing.T, _ *sharingStore, locks *lockrt.Locker) {
			_ = mustAcquire(t, locks, t.Context(), "k", hour).Release(t.Context())
		},
		"a reader's": func(t *testing.T, _ *sharingStore, locks *lockrt.Locker) {
			_ = mustAcquire(t, locks, t.Context(), "k", reader).Release(t.Context())
		},
		"one of two readers' whose MaxHold has passed": func(t *testing.T, _ *sharingStore, locks *lockrt.Locker) {
			one := mustAcquire(t, locks, t.Context(), "k", short)
			mustAcquire(t, locks, t.Context(), "k", short)
			<-one.Done()
			_ = one.Release(t.Context())
		},
		"one of two readers' who were not renewed in time": func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
			store.set(func(s *faultStore) {
				s.renew = func(ctx context.Context, r []lockrt.Renewal, real lockrt.Session) []error {
					_ = real.Renew(ctx, r)
					return failAll(r, errors.New("i/o timeout"))
				}
			})
			o := lockrt.Options{TTL: 20 * time.Second, Mode: lockrt.Read}
			one := mustAcquire(t, locks, t.Context(), "k", o)
			mustAcquire(t, locks, t.Context(), "k", o)
			<-one.Done()
			_ = one.Release(t.Context())
		},
		"that of a caller who had given up": func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
			ctx, cancel := context.WithCancel(t.Context())
			store.set(func(s *faultStore) {
				s.acquire = func(c context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
					defer cancel()
					return real.Acquire(c, req)
				}
			})
			lease, err := locks.Acquire(tardyContext{ctx, new(atomic.Bool)}, "k", hour)
			if err == nil {
				_ = lease.Release(t.Context())
			}
			store.set(func(s *faultStore) { s.acquire = nil })
		},
	} {
		for _, again := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, again %t", name, again), func(t *testing.T) {
				testsync.Bubble(t, func(t *testing.T) {
					store, locks := opened(t)
					store.set(refuses)
					fail(t, store, locks)
					if again {
						if err := locks.Close(t.Context()); err == nil {
							t.Error("Close says nothing of a lock that is left")
						}
						return
					}
					store.set(takesAll)
					closesAll(t, store, locks)
				})
			})
		}
	}
}

// A driver panics when Close releases.
func TestLocker_Close_driverThatPanics(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		store.set(func(s *faultStore) {
			s.release = func(context.Context, lockrt.Release, lockrt.Session) error { panic("a driver's") }
		})
		if err := locks.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "a driver's") {
			t.Errorf("close: %v, want the panic", err)
		}
	})
}

// A release has panicked after the store had done it. The next one has nothing to do.
func TestLease_Release_afterAPanic(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		store.set(func(s *faultStore) {
			s.release = func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
				_ = real.Release(ctx, rel)
				panic("a driver's")
			}
		})
		func() {
			defer func() { _ = recover() }()
			_ = lease.Release(t.Context())
		}()
		store.set(takesAll)
		if err := lease.Release(t.Context()); err != nil {
			t.Errorf("release: %v", err)
		}
		closesAll(t, store, locks)
	})
}

// Close has given back what a reader had not. The others' releases have nothing to do.
func TestLease_Release_afterClose(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks, held := reading(t, 3, func(context.Context, lockrt.Release, lockrt.Session) error {
			time.Sleep(time.Second)
			return errors.New("refused")
		})
		var fellow sync.WaitGroup
		fellow.Go(func() {
			<-held[1].Done()
			_ = held[1].Release(t.Context())
		})
		time.AfterFunc(500*time.Millisecond, func() { store.set(takesAll) })
		_ = locks.Close(t.Context())
		fellow.Wait()
		leavesNothing(t, store)
		for _, lease := range held {
			if err := lease.Release(t.Context()); err != nil && strings.Contains(err.Error(), "TTL") {
				t.Errorf("release: %v", err)
			}
		}
	})
}

// patientStore takes its 5 s for each Close of a session.
type patientStore struct{ *faultStore }

type patientSession struct{ lockrt.Session }

func (s patientStore) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	real, err := s.faultStore.Open(cfg)
	return patientSession{real}, err
}

func (s patientSession) Close(ctx context.Context) error {
	_ = s.Session.Close(ctx)
	select {
	case <-time.After(5 * time.Second):
		return errors.New("the store did not answer")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestLocker_Close_patientDriverOfASilentStore(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store := patientStore{&faultStore{Store: memstore.New()}}
		locks, err := lockrt.New(store, lockrt.Config{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		store.set(func(s *faultStore) { s.release = lateRelease(time.Hour) })
		began := time.Now()
		if err := locks.Close(t.Context()); err == nil || time.Since(began) > 6500*time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// exitingStore has sessions whose Close ends the goroutine that calls it, at the first or the second call.
type exitingStore struct {
	*memstore.Store
	at int
}

type exitingSession struct {
	lockrt.Session
	at int
}

func (s exitingStore) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	real, err := s.Store.Open(cfg)
	return &exitingSession{real, s.at}, err
}

func (s *exitingSession) Close(ctx context.Context) error {
	if s.at--; s.at == 0 {
		runtime.Goexit()
	}
	return s.Session.Close(ctx)
}

func TestLocker_Close_driverThatExits(t *testing.T) {
	for _, at := range []int{1, 2} {
		testsync.Bubble(t, func(t *testing.T) {
			locks, err := lockrt.New(exitingStore{memstore.New(), at}, lockrt.Config{Logger: quiet()})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			began := time.Now()
			if err := locks.Close(ctx); err == nil || time.Since(began) > time.Minute {
				t.Errorf("call %d: %v after %s", at, err, time.Since(began))
			}
		})
	}
}
