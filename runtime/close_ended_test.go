package lockrt_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// This file is what Close does when its session has ended, and what it says then.

// endingStore ends the locks of a session when it is closed, and takes its time.
type endingStore struct {
	*faultStore
	slow time.Duration
}

type endingSession struct {
	lockrt.Session
	store *endingStore
	once  sync.Once
}

func (s *endingStore) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	real, err := s.faultStore.Open(cfg)
	return &endingSession{Session: real, store: s}, err
}

func (s *endingSession) Close(ctx context.Context) error {
	err := s.Session.Close(ctx)
	s.once.Do(func() {
		time.Sleep(s.store.slow)
		infos, _ := s.Session.List(ctx, "")
		for _, info := range infos {
			_ = s.Session.(*faultSession).Session.Release(ctx, lockrt.Release{Key: info.Key, ID: info.ID})
		}
		s.store.set(func(f *faultStore) { f.release = nil })
	})
	return err
}

// Releases are refused, then the session ends and all locks with it, however late. Close sees that by asking once more.
func TestLocker_Close_slowlyEndingSession(t *testing.T) {
	for _, slow := range []time.Duration{0, 500 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second} {
		t.Run(fmt.Sprint(slow), func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				store := &endingStore{&faultStore{Store: memstore.New()}, slow}
				locks, err := lockrt.New(store, lockrt.Config{Logger: quiet()})
				if err != nil {
					t.Fatal(err)
				}
				for i := range 3 {
					mustAcquire(t, locks, t.Context(), fmt.Sprint(i), lockrt.Options{TTL: time.Hour})
				}
				store.set(refuses)
				err = locks.Close(t.Context())
				left, _ := newLocker(t, &faultStore{Store: store.Store}, lockrt.Config{}).List(t.Context(), "")
				if err != nil && len(left) == 0 {
					t.Errorf("nothing is left, and Close says: %v", err)
				}
			})
		})
	}
}

// All releases of Close are refused once. Then the store takes all but one.
func TestLocker_Close_oneStaysRefused(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		wrong := 0
		for range 50 {
			store, locks := opened(t)
			for i := range 5 {
				mustAcquire(t, locks, t.Context(), fmt.Sprint("k", i), lockrt.Options{TTL: time.Hour})
			}
			asked := 0
			var mu sync.Mutex
			store.set(func(s *faultStore) {
				s.release = func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
					mu.Lock()
					defer mu.Unlock()
					if asked++; asked <= 5 || rel.Key == "k0" {
						return errors.New("refused")
					}
					return real.Release(ctx, rel)
				}
			})
			if err := locks.Close(t.Context()); err != nil && strings.Count(err.Error(), "refused") > 1 {
				wrong++
			}
		}
		if wrong > 0 {
			t.Errorf("%d of 50 Closes leave locks that the store would have taken", wrong)
		}
	})
}

// Leases have run out just before Close, and the program has not heard of it: a slow meter stands for a slow machine.
func TestLocker_Close_waitsForLossesBeforeIt(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		var logged atomic.Int32
		slow := new(atomic.Bool)
		locks, err := lockrt.New(memstore.New(), lockrt.Config{
			Logger: slog.New(counting{slog.DiscardHandler, &logged}),
			MeterProvider: hookedMeters{record: func() {
				if slow.CompareAndSwap(true, false) {
					time.Sleep(time.Second)
				}
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var leases []*lockrt.Lease
		for i := range 10 {
			leases = append(leases, mustAcquire(t, locks, t.Context(), fmt.Sprint(i), lockrt.Options{TTL: time.Minute, NoRenew: true}))
		}
		slow.Store(true)
		<-leases[9].Done() // the expirer ends them, and then tells
		synctest.Wait()
		if err := locks.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if n := logged.Load(); n != 10 {
			t.Errorf("%d losses are logged when Close returns, want 10", n)
		}
	})
}

// MinHold has not kept a lock: the user's own release, which finds nothing to release, does not mend that.
func TestLocker_Close_tellsWhatMinHoldHasNotKept(t *testing.T) {
	for _, release := range []bool{false, true} {
		t.Run(fmt.Sprintf("released %t", release), func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				store := &endingStore{&faultStore{Store: memstore.New()}, 3 * time.Second}
				locks, err := lockrt.New(store, lockrt.Config{Logger: quiet()})
				if err != nil {
					t.Fatal(err)
				}
				lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Minute, MinHold: time.Second})
				store.set(func(s *faultStore) {
					s.release = func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
						rel.Keep = 0 // it has ended with the session
						_ = real.Release(ctx, rel)
						return lockrt.ErrLost
					}
				})
				var user sync.WaitGroup
				user.Go(func() {
					<-lease.Done()
					time.Sleep(2 * time.Second)
					if release {
						_ = lease.Release(t.Context())
					}
				})
				if err := locks.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "MinHold") {
					t.Errorf("MinHold has not kept the lock, and Close returns %v", err)
				}
				user.Wait()
			})
		})
	}
}
