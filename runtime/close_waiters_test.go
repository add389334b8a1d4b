package lockrt_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// closeStore has sessions of which the first Close, or each, does something else.
type closeStore struct {
	*memstore.Store
	close func(ctx context.Context, n int, real lockrt.Session) error
}

type closeSession struct {
	lockrt.Session
	store closeStore
	n     int
}

func (s closeStore) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	real, err := s.Store.Open(cfg)
	return &closeSession{real, s, 0}, err
}

func (s *closeSession) Close(ctx context.Context) error {
	s.n++
	return s.store.close(ctx, s.n, s.Session)
}

func TestLocker_Close_sessionThatPanics(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store := closeStore{memstore.New(), func(ctx context.Context, _ int, real lockrt.Session) error {
			_ = real.Close(ctx)
			panic("a driver's")
		}}
		locks, err := lockrt.New(store, lockrt.Config{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		if err := locks.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "a driver's") {
			t.Errorf("close: %v, want the panic", err)
		}
	})
}

// A session that fails before it has told those who wait in it is closed once more. If that does not help, Close leaves
// them behind, and says so.
func TestLocker_Close_sessionThatEndsNoWaits(t *testing.T) {
	for name, fail := range map[string]func(ctx context.Context) error{
		"panics":  func(context.Context) error { panic("a driver's") },
		"ends":    func(context.Context) error { runtime.Goexit(); return nil },
		"refuses": func(context.Context) error { return errors.New("refused") },
		"is silent": func(ctx context.Context) error {
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Second):
			}
			return errors.New("no answer")
		},
		"lies": func(context.Context) error { return nil },
	} {
		for often, failures := range map[string]int{"once": 1, "always": 1000} {
			t.Run(name+" "+often, func(t *testing.T) {
				testsync.Bubble(t, func(t *testing.T) { closeBesideWaiter(t, fail, failures, name == "lies" && often == "once") })
			})
		}
	}
}

func closeBesideWaiter(t *testing.T, fail func(context.Context) error, failures int, liesOnce bool) {
	store := closeStore{memstore.New(), func(ctx context.Context, n int, real lockrt.Session) error {
		if n <= failures {
			return fail(ctx)
		}
		return real.Close(ctx)
	}}
	locks, err := lockrt.New(store, lockrt.Config{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	held := mustAcquire(t, newLocker(t, store.Store, lockrt.Config{}), t.Context(), "k", lockrt.Options{TTL: time.Hour})
	waiter := make(chan error, 1)
	go func() {
		_, err := locks.Acquire(context.Background(), "k", lockrt.Options{TTL: time.Minute, Wait: lockrt.Forever})
		waiter <- err
	}()
	synctest.Wait()
	began := time.Now()
	err = locks.Close(t.Context())
	if took := time.Since(began); took > 7*time.Second {
		t.Errorf("Close took %s", took)
	}
	if failures == 1 && !liesOnce {
		if err := <-waiter; !errors.Is(err, lockrt.ErrClosed) {
			t.Errorf("the waiter has %v, want ErrClosed", err)
		}
		if took := time.Since(began); took > 7*time.Second {
			t.Errorf("the waiter had its error after %s", took)
		}
	} else if err == nil || !strings.Contains(err.Error(), "has not ended the acquires") {
		t.Errorf("Close: %v, want it to tell of those who wait", err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Error(err)
	}
	synctest.Wait() // whoever has waited gets the lock and gives it back, or leaves it to its TTL
}
