package lockrt_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// closing acquires so many locks, and then has the store release them as told.
func closing(
	t *testing.T, n int, o lockrt.Options, release func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error,
) (*faultStore, *lockrt.Locker, []*lockrt.Lease) {
	t.Helper()
	store := &faultStore{Store: memstore.New()}
	locks, err := lockrt.New(store, lockrt.Config{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	var held []*lockrt.Lease
	for i := range n {
		held = append(held, mustAcquire(t, locks, t.Context(), fmt.Sprint("k", i), o))
	}
	store.set(func(s *faultStore) { s.release = release })
	return store, locks, held
}

// lateRelease answers after a while.
func lateRelease(d time.Duration) func(context.Context, lockrt.Release, lockrt.Session) error {
	return func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
		select {
		case <-time.After(d):
			return real.Release(ctx, rel)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Many leases are given back at a store whose answers take their time. The more it answers, the more are under way: one
// after the other would take minutes, and as many as at the beginning 5 s.
func TestLocker_Close_releasesEverMoreAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, locks, _ := closing(t, 300, lockrt.Options{TTL: time.Hour}, lateRelease(500*time.Millisecond))
		began := time.Now()
		if err := locks.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("Close took %s, want four answers in turn", took)
		}
	})
}

// Nobody renews leases that Close has ended. Those that MinHold is to keep are released before they run out, however many
// they are. Where the store answers too late for that, Close says so.
func TestLocker_Close_minHoldAtASlowStore(t *testing.T) {
	for late, want := range map[time.Duration]int{500 * time.Millisecond: 3000, 3 * time.Second: 0} {
		synctest.Test(t, func(t *testing.T) {
			store, locks, _ := closing(t, 3000, lockrt.Options{TTL: 2 * time.Second, MinHold: time.Hour}, lateRelease(late))
			err := locks.Close(t.Context())
			if told := err != nil && strings.Contains(err.Error(), "MinHold does not keep it"); told != (want == 0) {
				t.Errorf("answers after %s: close: %.200v", late, err)
			}
			time.Sleep(10 * time.Second)
			kept, others := 0, newLocker(t, store, lockrt.Config{})
			for i := range 3000 {
				if _, err := others.Holder(t.Context(), fmt.Sprint("k", i)); err == nil {
					kept++
				}
			}
			if kept != want {
				t.Errorf("answers after %s: %d locks are kept, want %d", late, kept, want)
			}
		})
	}
}

// A refusal is an answer: Close asks for all locks, and once more for the first few, which may have ended with the session.
func TestLocker_Close_refusedReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked := 0
		_, locks, _ := closing(t, 3000, lockrt.Options{TTL: time.Hour}, func(context.Context, lockrt.Release, lockrt.Session) error {
			time.Sleep(200 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			asked++
			return errors.New("permission denied")
		})
		err := locks.Close(t.Context())
		if err == nil || strings.Contains(err.Error(), "did not answer") {
			t.Errorf("close: %v, want the refusals", err)
		}
		if asked != 3010 {
			t.Errorf("%d releases were asked for, want 3010", asked)
		}
	})
}

// Holders release when Close has all but given up on a silent store.
func TestLocker_Close_lateCallersOfASilentStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, locks, held := closing(t, 100, lockrt.Options{TTL: time.Hour}, lateRelease(time.Hour))
		var callers sync.WaitGroup
		for _, lease := range held {
			callers.Go(func() {
				<-lease.Done()
				time.Sleep(4900 * time.Millisecond)
				_ = lease.Release(context.Background())
			})
		}
		began := time.Now()
		if err := locks.Close(t.Context()); err == nil {
			t.Error("Close says nothing of releases that had no answer")
		}
		if took := time.Since(began); took > 6500*time.Millisecond {
			t.Errorf("Close took %s, want some 6 s", took)
		}
		callers.Wait()
	})
}

// A release whose caller has little time is under way. Close begins it anew, and who else waits for it does not hear of the
// end of a context that is not its own.
func TestLocker_Close_besideAnImpatientRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, locks, held := closing(t, 1, lockrt.Options{TTL: time.Hour}, lateRelease(time.Second))
		var callers sync.WaitGroup
		callers.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if err := held[0].Release(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("release: %v, want the end of its context", err)
			}
		})
		synctest.Wait()
		callers.Go(func() {
			err := held[0].Release(t.Context())
			if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
				t.Errorf("release of another caller: %v", err)
			}
		})
		if err := locks.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		callers.Wait()
		mustAcquire(t, newLocker(t, store, lockrt.Config{}), t.Context(), "k0", lockrt.Options{TTL: ttl})
	})
}

// A driver has timeouts of its own, which are no answers.
func TestLocker_Close_driverThatGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, locks, _ := closing(t, 3000, lockrt.Options{TTL: time.Hour}, func(context.Context, lockrt.Release, lockrt.Session) error {
			time.Sleep(3 * time.Second)
			return errors.New("i/o timeout")
		})
		began := time.Now()
		if err := locks.Close(t.Context()); err == nil {
			t.Error("Close says nothing of releases that had no answer")
		}
		if took := time.Since(began); took > 6500*time.Millisecond {
			t.Errorf("Close took %s, want some 6 s", took)
		}
	})
}

// A lease with MinHold has ended at the store when that hears of its release. It is lost, for whoever asks and as often as
// they do. After a release that had no answer nobody knows.
func TestLease_Release_minHoldTooLate(t *testing.T) {
	for unanswered, want := range map[bool]string{false: "MinHold does not keep it", true: "not known whether MinHold keeps it"} {
		synctest.Test(t, func(t *testing.T) {
			_, locks, held := closing(t, 1, lockrt.Options{TTL: 2 * time.Second, MinHold: time.Hour, NoRenew: true}, lateRelease(3*time.Second))
			if unanswered {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				_ = held[0].Release(ctx)
			}
			if err := held[0].Release(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("release: %v, want %q", err, want)
			}
			for range 2 {
				if err := held[0].Release(t.Context()); !unanswered && !errors.Is(err, lockrt.ErrLost) || err == nil {
					t.Errorf("release again: %v, want ErrLost", err)
				}
			}
			_ = locks.Close(t.Context())
		})
	}
}

// onceStore's sessions report once what stays in the store.
type onceStore struct{ *memstore.Store }

type onceSession struct {
	lockrt.Session
	once sync.Once
}

func (s onceStore) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	real, err := s.Store.Open(cfg)
	return &onceSession{Session: real}, err
}

func (s *onceSession) Close(ctx context.Context) (err error) {
	s.once.Do(func() { err = errors.New("something stays") })
	return errors.Join(err, s.Session.Close(ctx))
}

// The Locker closes its session twice, and tells of what either call says.
func TestLocker_Close_sessionThatTellsOnce(t *testing.T) {
	locks, err := lockrt.New(onceStore{memstore.New()}, lockrt.Config{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	if err := locks.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "something stays") {
		t.Errorf("close: %v, want what the session said", err)
	}
}

// A driver panics in a release. Who waits for that hears of it.
func TestLease_Release_besideAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, locks, held := closing(t, 1, lockrt.Options{TTL: time.Hour}, func(context.Context, lockrt.Release, lockrt.Session) error {
			time.Sleep(time.Second)
			panic("a driver's")
		})
		var callers sync.WaitGroup
		callers.Go(func() {
			defer func() { _ = recover() }()
			_ = held[0].Release(t.Context())
		})
		synctest.Wait()
		if err := held[0].Release(t.Context()); err == nil {
			t.Error("a release that has panicked counts as done")
		}
		callers.Wait()
		_ = locks.Close(t.Context())
	})
}

// Grants come while the Locker closes, and the store takes no release. Close says so. Where it takes them, however late,
// nothing is left.
func TestLocker_Close_grantsThatCross(t *testing.T) {
	for _, late := range []time.Duration{time.Hour, time.Second} {
		synctest.Test(t, func(t *testing.T) { grantsCross(t, late) })
	}
}

func grantsCross(t *testing.T, late time.Duration) {
	store, locks, _ := closing(t, 0, lockrt.Options{}, lateRelease(late))
	store.set(func(s *faultStore) {
		s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
			granted, err := real.Acquire(ctx, req)
			time.Sleep(time.Second)
			return granted, err
		}
	})
	var callers sync.WaitGroup
	for i := range 3 {
		callers.Go(func() {
			_, err := locks.Acquire(t.Context(), fmt.Sprint("k", i), lockrt.Options{TTL: time.Hour, Wait: time.Hour})
			if !errors.Is(err, lockrt.ErrClosed) {
				t.Errorf("acquire: %v, want ErrClosed", err)
			}
		})
	}
	synctest.Wait()
	err := locks.Close(t.Context())
	if told := err != nil && strings.Contains(err.Error(), "3 locks"); told != (late == time.Hour) || !told && err != nil {
		t.Errorf("releases take %s: close: %v", late, err)
	}
	callers.Wait()
}

// Callers try again and again, each time with less time than the store takes. Close comes between two of them.
func TestLocker_Close_besideARetryLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, locks, held := closing(t, 1, lockrt.Options{TTL: time.Hour}, lateRelease(time.Second))
		var callers sync.WaitGroup
		callers.Go(func() {
			for {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				err := held[0].Release(ctx)
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) {
					return
				}
			}
		})
		synctest.Wait()
		if err := locks.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		callers.Wait()
		mustAcquire(t, newLocker(t, store, lockrt.Config{}), t.Context(), "k0", lockrt.Options{TTL: ttl})
	})
}

// The store is silent, and a caller tries again when it has given up, with ever more time: Close takes no longer.
func TestLocker_Close_besideRetriesAtASilentStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, locks, held := closing(t, 1, lockrt.Options{TTL: time.Hour}, lateRelease(time.Hour))
		var callers sync.WaitGroup
		callers.Go(func() {
			for _, patience := range []time.Duration{2 * time.Second, 2 * time.Second, time.Minute} {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				_ = held[0].Release(ctx)
				cancel()
			}
		})
		synctest.Wait()
		began := time.Now()
		if err := locks.Close(t.Context()); err == nil {
			t.Error("Close says nothing of a release that had no answer")
		}
		if took := time.Since(began); took > 6500*time.Millisecond {
			t.Errorf("Close took %s, want some 6 s", took)
		}
		callers.Wait()
	})
}

// Readers of one process share a grant, and one of them gives it back for all. That it has failed to is told by Close, too,
// which has released the others.
func TestLocker_Close_readersOfASilentStore(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			store := &sharingStore{faultStore: &faultStore{Store: memstore.New()}}
			locks, err := lockrt.New(store, lockrt.Config{Logger: quiet()})
			if err != nil {
				t.Fatal(err)
			}
			var callers sync.WaitGroup
			for range 3 {
				lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour, Mode: lockrt.Read})
				callers.Go(func() {
					<-lease.Done()
					_ = lease.Release(context.Background())
				})
			}
			store.set(func(s *faultStore) { s.release = lateRelease(time.Hour) })
			if err := locks.Close(t.Context()); err == nil {
				t.Error("Close says nothing of a lock that stays")
			}
			callers.Wait()
		})
	}
}
