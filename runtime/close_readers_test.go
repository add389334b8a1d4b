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

// reading acquires a lock for reading by so many leases, and then has the store release it as told.
func reading(
	t *testing.T, n int, release func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error,
) (*sharingStore, *lockrt.Locker, []*lockrt.Lease) {
	t.Helper()
	store := &sharingStore{faultStore: &faultStore{Store: memstore.New()}}
	locks, err := lockrt.New(store, lockrt.Config{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	var held []*lockrt.Lease
	for range n {
		held = append(held, mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour, Mode: lockrt.Read}))
	}
	store.set(func(s *faultStore) { s.release = release })
	return store, locks, held
}

// isFree reports whether a writer gets the lock.
func isFree(t *testing.T, store lockrt.Store) bool {
	t.Helper()
	_, err := newLocker(t, store, lockrt.Config{}).TryAcquire(t.Context(), "k", lockrt.Options{TTL: ttl})
	return err == nil
}

// The last reader gives its release up, and Close is beside it: it releases the lock, or says that this stays.
func TestLocker_Close_besideAnImpatientReader(t *testing.T) {
	for _, late := range []time.Duration{time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store, locks, held := reading(t, 1, lateRelease(late))
			var callers sync.WaitGroup
			callers.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				_ = held[0].Release(ctx)
			})
			synctest.Wait()
			err := locks.Close(t.Context())
			callers.Wait()
			store.set(func(s *faultStore) { s.release = nil })
			if free := isFree(t, store); free != (late == time.Second) || free != (err == nil) {
				t.Errorf("releases take %s: close: %v, and the lock is free: %t", late, err, free)
			}
		})
	}
}

// Two readers share the grant. One gives the lock back and up, while Close has released the other: Close goes on with it.
func TestLocker_Close_besideAnImpatientFellow(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			store, locks, held := reading(t, 2, lateRelease(time.Second))
			var callers sync.WaitGroup
			callers.Go(func() {
				<-held[1].Done()
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				_ = held[1].Release(ended)
			})
			if err := locks.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
			callers.Wait()
			store.set(func(s *faultStore) { s.release = nil })
			if !isFree(t, store) {
				t.Error("the lock stays")
			}
		})
	}
}

// The release of the last reader is refused. A second one asks the store again.
func TestLease_Release_readerAfterARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, locks, held := reading(t, 2, func(context.Context, lockrt.Release, lockrt.Session) error {
			return errors.New("connection refused")
		})
		if err := held[0].Release(t.Context()); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := held[1].Release(t.Context()); err == nil {
				t.Error("a refused release is none")
			}
		}
		store.set(func(s *faultStore) { s.release = nil })
		if err := held[1].Release(t.Context()); err != nil || !isFree(t, store) {
			t.Errorf("the release is repeated: %v, and the lock is not free", err)
		}
		if err := locks.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
