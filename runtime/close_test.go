package lockrt_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// Close is called with the context whose end was the reason for it, as that of a signal. The holders hear of it at once,
// and the store is told, however long that takes.
func TestLocker_Close_afterTheEndOfItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, others *lockrt.Locker) {
		locks, err := lockrt.New(store, lockrt.Config{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		var leases lockrt.Leases
		for i := range 100 {
			leases = append(leases, mustAcquire(t, locks, t.Context(), strconv.Itoa(i), lockrt.Options{TTL: ttl}))
		}
		store.set(func(s *faultStore) {
			s.release = func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
				time.Sleep(200 * time.Millisecond)
				return errors.Join(ctx.Err(), real.Release(context.WithoutCancel(ctx), rel))
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := locks.Close(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Close: %v, want context.Canceled", err)
		}
		for _, lease := range leases {
			cause := context.Cause(lease.Context())
			if !errors.Is(cause, lockrt.ErrLost) || !errors.Is(cause, lockrt.ErrClosed) {
				t.Fatalf("%q goes on after Close: its context has ended with %v, want ErrLost and ErrClosed", lease.Key(), cause)
			}
		}
		if err := locks.Close(t.Context()); err != nil {
			t.Errorf("Close again: %v", err)
		}
		if left, err := others.List(t.Context(), ""); err != nil || len(left) > 0 {
			t.Errorf("%d locks are left, %v", len(left), err)
		}
	})
}

// Nobody has released a lease that its MaxHold has ended. Close does.
func TestLocker_Close_releasesWhatMaxHoldHasEnded(t *testing.T) {
	for _, mode := range []lockrt.Mode{lockrt.Write, lockrt.Read} {
		sharing(t, func(t *testing.T, store *sharingStore, others *lockrt.Locker) {
			locks := newLocker(t, store, lockrt.Config{})
			lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour, MaxHold: time.Second, Mode: mode})
			<-lease.Done()
			synctest.Wait()
			if err := locks.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
			mustAcquire(t, others, t.Context(), "k", lockrt.Options{TTL: ttl})
			if err := lease.Release(t.Context()); !errors.Is(err, lockrt.ErrLost) || errors.Is(err, lockrt.ErrClosed) {
				t.Errorf("the release: %v, want ErrLost alone", err)
			}
		})
	}
}

// A lease ends a little before the store knows. Close does not leave that time to the store.
func TestLocker_Close_directlyAfterADeadline(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, others *lockrt.Locker) {
		locks := newLocker(t, store, lockrt.Config{})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: 100 * time.Second, NoRenew: true})
		<-lease.Done()
		synctest.Wait()
		if err := locks.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		mustAcquire(t, others, t.Context(), "k", lockrt.Options{TTL: ttl})
	})
}

// One of two readers that Close has ended gives back what they had together. Close waits for it, whichever of them it finds.
func TestLocker_Close_waitsForTheOtherReader(t *testing.T) {
	for range 20 {
		sharing(t, func(t *testing.T, store *sharingStore, others *lockrt.Locker) {
			locks := newLocker(t, store, lockrt.Config{})
			store.set(func(s *faultStore) {
				s.release = func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
					time.Sleep(time.Second)
					return errors.Join(ctx.Err(), real.Release(context.WithoutCancel(ctx), rel))
				}
			})
			o := lockrt.Options{TTL: time.Hour, Mode: lockrt.Read}
			var released sync.WaitGroup
			for range 2 {
				lease := mustAcquire(t, locks, t.Context(), "k", o)
				released.Go(func() {
					<-lease.Done()
					if err := lease.Release(t.Context()); !errors.Is(err, lockrt.ErrLost) || errors.Is(err, context.Canceled) {
						t.Errorf("the release: %v, want ErrLost alone", err)
					}
				})
			}
			synctest.Wait()
			if err := locks.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
			if left, err := others.List(t.Context(), ""); err != nil || len(left) > 0 {
				t.Errorf("%d locks are left, %v", len(left), err)
			}
			released.Wait()
		})
	}
}

func TestLocker_Close_refusesToLook(t *testing.T) {
	locks := newLocker(t, memstore.New(), lockrt.Config{})
	lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
	if err := locks.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, listed := locks.List(t.Context(), "")
	_, looked := locks.Holder(t.Context(), "k")
	for name, err := range map[string]error{
		"List": listed, "Holder": looked, "Break": locks.Break(t.Context(), "k", "test"), "Check": lease.Check(t.Context()),
		"Extend": lease.Extend(t.Context(), ttl),
	} {
		if !errors.Is(err, lockrt.ErrClosed) {
			t.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
}

// A lease that was ended by its MaxHold is still the store's holder until its release is done. The release may begin in the
// moment in which the Locker hears of the end, hence the rounds.
func TestLocker_Close_waitsForTheReleaseOfALostLease(t *testing.T) {
	for range 100 {
		bubble(t, closeWhileALostLeaseIsReleased)
	}
}

func closeWhileALostLeaseIsReleased(t *testing.T, store *faultStore, _ *lockrt.Locker) {
	const slow = time.Second
	locks := newLocker(t, store, lockrt.Config{})
	store.set(func(s *faultStore) {
		s.release = func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
			time.Sleep(slow)
			return errors.Join(ctx.Err(), real.Release(context.WithoutCancel(ctx), rel))
		}
	})
	lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, MaxHold: time.Second})
	<-lease.Done()
	began := time.Now()
	released := make(chan error, 1)
	go func() { released <- lease.Release(t.Context()) }()
	synctest.Wait()
	if err := locks.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	if after := time.Since(began); after != slow {
		t.Errorf("Close returned %s after the release had begun, which takes %s", after, slow)
	}
	if err := <-released; !errors.Is(err, lockrt.ErrLost) || errors.Is(err, context.Canceled) {
		t.Errorf("the release: %v, want ErrLost alone", err)
	}
}

type closableStore struct {
	*memstore.Store
	err    error
	closed int
}

func (s *closableStore) Close() error {
	s.closed++
	return s.err
}

// closable is what URLs with this scheme open.
var closable lockrt.Store

func init() {
	lockrt.Register("closable", func(context.Context, string) (lockrt.Store, error) { return closable, nil })
}

// What Open has opened it closes, also when it fails itself.
func TestOpen_closesItsStore(t *testing.T) {
	stuck := errors.New("stuck")
	store := &closableStore{Store: memstore.New(), err: stuck}
	closable = store
	locks, err := lockrt.Open(t.Context(), "closable:", lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := locks.Close(t.Context()); !errors.Is(err, stuck) || store.closed != 1 {
		t.Errorf("Close: %v, and the store was closed %d times; want the store's error and once", err, store.closed)
	}
	_, err = lockrt.Open(t.Context(), "closable:", lockrt.Config{Node: "a\nb"})
	if !errors.Is(err, lockrt.ErrOptions) || store.closed != 2 {
		t.Errorf("Open: %v, and the store was closed %d times; want ErrOptions and once more", err, store.closed)
	}
}
