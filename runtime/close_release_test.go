package lockrt_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// A release that is under way when Close begins goes on: what it has not released would stay taken for its TTL. Whoever
// waits for it, or for Close, does so in a way that lets the time of testing/synctest go on.
func TestLocker_Close_waitsForAReleaseUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faultStore{Store: memstore.New()}
		releases := 0
		store.release = func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
			releases++
			select {
			case <-time.After(200 * time.Millisecond):
				return real.Release(ctx, rel)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		locks := newLocker(t, store, lockrt.Config{})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		began := time.Now()
		var calls sync.WaitGroup
		for range 2 {
			calls.Go(func() {
				if err := lease.Release(t.Context()); err != nil {
					t.Errorf("release: %v", err)
				}
			})
		}
		synctest.Wait()
		for range 2 {
			calls.Go(func() {
				if err := locks.Close(t.Context()); err != nil {
					t.Errorf("close: %v", err)
				}
				if after := time.Since(began); after != 200*time.Millisecond {
					t.Errorf("Close returned %s after the release had begun, which takes 200ms", after)
				}
			})
		}
		calls.Wait()
		if releases != 1 {
			t.Errorf("the store was asked to release %d times", releases)
		}
		store.set(func(s *faultStore) { s.release = nil })
		mustAcquire(t, newLocker(t, store, lockrt.Config{}), t.Context(), "k", lockrt.Options{TTL: ttl})
	})
}

// A silent store makes the limit of one call and that of Close end at the same time. The caller's context lives, so that
// nothing that Close returns looks like its end.
func TestLocker_Close_endsOfLimitsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faultStore{Store: memstore.New()}
		store.release = func(ctx context.Context, _ lockrt.Release, _ lockrt.Session) error {
			<-ctx.Done()
			return errors.Join(ctx.Err(), context.DeadlineExceeded)
		}
		locks, err := lockrt.New(store, lockrt.Config{})
		if err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		err = locks.Close(t.Context())
		if err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			t.Errorf("close: %v, want an error that is none of a context", err)
		}
	})
}

// The other way around: the caller gives up, and a limit ends with it. It is the caller's end that counts.
func TestLease_Release_callerAndLimitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faultStore{Store: memstore.New()}
		store.release = func(ctx context.Context, _ lockrt.Release, _ lockrt.Session) error {
			<-ctx.Done()
			return errors.Join(context.Canceled, context.DeadlineExceeded)
		}
		locks := newLocker(t, store, lockrt.Config{})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		err := lease.Release(ctx)
		if !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("release: %v, want %v and no deadline", err, context.Canceled)
		}
		store.set(takesAll)
	})
}
