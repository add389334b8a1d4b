package lockrt_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// heirs are many contexts made of that of a lease. It takes a while until the last of them has ended.
func heirs(t *testing.T, lease *lockrt.Lease) (alive func() int) {
	all := make([]context.Context, 20000)
	for i := range all {
		ctx, cancel := context.WithCancel(lease.Context())
		t.Cleanup(cancel)
		all[i] = ctx
	}
	return func() (n int) {
		for _, ctx := range all {
			if ctx.Err() == nil {
				n++
			}
		}
		return n
	}
}

// Who hears first that a lease is lost and releases it does not give the lock on before all contexts under it have ended.
func TestLease_Release_besideItsLoss(t *testing.T) {
	for range 10 {
		sharing(t, func(t *testing.T, store *sharingStore, others *lockrt.Locker) {
			locks := newLocker(t, store, lockrt.Config{LocalHandoffTime: time.Minute})
			var leases []*lockrt.Lease
			for range 3000 {
				leases = append(leases, mustAcquire(t, locks, t.Context(), "k", read))
			}
			store.set(func(s *faultStore) {
				s.renew = func(_ context.Context, renewals []lockrt.Renewal, _ lockrt.Session) []error {
					return failAll(renewals, errors.New("down"))
				}
			})
			alive := make(chan int)
			go func() {
				next, err := others.Acquire(t.Context(), "k", write)
				if err != nil {
					t.Error(err)
				}
				n := 0
				for _, lease := range leases {
					select {
					case <-lease.Context().Done():
					default:
						n++
					}
				}
				_ = next.Release(t.Context())
				alive <- n
			}()
			<-leases[0].Done()
			_ = leases[0].Release(t.Context())
			if n := <-alive; n > 0 {
				t.Errorf("%d readers are alive, and a writer has the lock", n)
			}
		})
	}
}

// Readers whose MaxHold ends them give the lock back with their releases, also with those that come in that moment.
func TestLease_Release_besideMaxHoldOfReaders(t *testing.T) {
	for range 20 {
		store := &sharingStore{faultStore: &faultStore{Store: memstore.New()}}
		locks := newLocker(t, store, lockrt.Config{LocalHandoffTime: time.Minute})
		others := newLocker(t, store, lockrt.Config{})
		o := lockrt.Options{TTL: time.Minute, Mode: lockrt.Read, MaxHold: 100 * time.Millisecond}
		first := mustAcquire(t, locks, t.Context(), "k", o)
		second := mustAcquire(t, locks, t.Context(), "k", o)
		heirs(t, first) // that they end takes longer than a moment
		heirs(t, second)
		var all sync.WaitGroup
		for _, lease := range []*lockrt.Lease{first, second} {
			all.Go(func() {
				<-lease.Done()
				_ = lease.Release(t.Context())
			})
		}
		all.Wait()
		next, err := others.Acquire(t.Context(), "k", lockrt.Options{TTL: time.Minute, Wait: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		_ = next.Release(t.Context())
	}
}

// The channel of a lease is closed when its contexts have ended, and not before.
func TestLease_Done_afterTheContexts(t *testing.T) {
	store := memstore.New()
	locks, others := newLocker(t, store, lockrt.Config{}), newLocker(t, store, lockrt.Config{})
	for range 10 {
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Minute})
		alive, done := heirs(t, lease), lease.Done()
		broken := make(chan error)
		go func() { broken <- others.Break(t.Context(), "k", "test") }()
		<-done
		if n := alive(); n > 0 {
			t.Errorf("%d contexts of the lease are alive after Done", n)
		}
		if err := <-broken; err != nil {
			t.Error(err)
		}
	}
}
