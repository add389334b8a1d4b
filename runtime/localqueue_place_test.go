package lockrt_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// takeTurns lets callers of several Lockers wait for k one after another, and returns in which order they got it.
type takeTurns struct {
	t     *testing.T
	order chan string
}

func (tt takeTurns) wait(locks *lockrt.Locker, name string) {
	tt.t.Helper()
	go func() {
		err := locks.Do(tt.t.Context(), "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever},
			func(context.Context, *lockrt.Lease) error {
				tt.order <- name
				return nil
			})
		if err != nil {
			tt.t.Errorf("%s: %v", name, err)
		}
	}()
	synctest.Wait()
}

func (tt takeTurns) want(names ...string) {
	tt.t.Helper()
	for _, name := range names {
		if got := <-tt.order; got != name {
			tt.t.Errorf("%s has its turn, want %s", got, name)
		}
	}
	synctest.Wait() // they have released
}

// Who waits behind a holder of its own process stands in the store's queue from LocalHandoffTime on. Somebody who comes
// later in another process does not overtake it.
func TestLocalQueue_waitsAtTheStoreWhileItsProcessHolds(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		other := newLocker(t, store, lockrt.Config{})
		tt := takeTurns{t, make(chan string, 10)}
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		tt.wait(locks, "first")
		time.Sleep(11 * time.Millisecond) // LocalHandoffTime is 10 ms
		synctest.Wait()
		tt.wait(other, "second")
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		tt.want("first", "second")
	})
}

// Before that the lease passes on here, and nobody pays for a place at the store.
func TestLocalQueue_asksNobodyWhileTheLeaseMayPassOn(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		calls := new(counted)
		calls.install(store)
		tt := takeTurns{t, make(chan string, 10)}
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		tt.wait(locks, "first")
		time.Sleep(9 * time.Millisecond)
		synctest.Wait()
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		tt.want("first")
		synctest.Wait()
		if n := calls.acquires.Load(); n != 1 {
			t.Errorf("%d acquires at the store, want 1", n)
		}
	})
}

// At the last pass that is allowed the next in the queue goes to the store, ahead of whoever comes later elsewhere.
func TestLocalQueue_waitsAtTheStoreWhenThePassesAreUsedUp(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		locks := newLocker(t, store, lockrt.Config{LocalHandoffs: 1, LocalHandoffTime: time.Hour})
		other := newLocker(t, store, lockrt.Config{})
		tt := takeTurns{t, make(chan string)}
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		tt.wait(locks, "passed on")
		tt.wait(locks, "first")
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the lease has passed on, and its holder waits to be seen
		tt.wait(other, "second")
		tt.want("passed on", "first", "second")
	})
}

// A caller that gives up at the store leaves its place there to the next in the queue.
func TestLocalQueue_placeAtTheStoreOutlivesWhoGivesUp(t *testing.T) {
	for name, o := range map[string]struct {
		wait   time.Duration
		cancel bool
	}{"cancelled": {lockrt.Forever, true}, "waited in vain": {time.Second, false}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
				other := newLocker(t, store, lockrt.Config{})
				tt := takeTurns{t, make(chan string, 10)}
				lease := mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: time.Hour})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				gaveUp := make(chan error, 1)
				go func() {
					_, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: ttl, Wait: o.wait})
					gaveUp <- err
				}()
				synctest.Wait()
				tt.wait(locks, "first")
				third := newLocker(t, store, lockrt.Config{})
				tt.wait(third, "second")
				if o.cancel {
					cancel()
				}
				if err := <-gaveUp; !errors.Is(err, lockrt.ErrBusy) || errors.Is(err, context.Canceled) != o.cancel {
					t.Errorf("who gave up got %v", err)
				}
				synctest.Wait()
				if err := lease.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				tt.want("first", "second")
			})
		})
	}
}

// With nobody behind, the place is given up too.
func TestLocalQueue_placeThatNobodyWantsIsGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		other := newLocker(t, store, lockrt.Config{})
		mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		wait := func(ctx context.Context) <-chan error {
			done := make(chan error, 1)
			go func() {
				_, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever})
				done <- err
			}()
			synctest.Wait()
			return done
		}
		ctx, cancel := context.WithCancel(t.Context())
		first, second := wait(ctx), wait(ctx)
		cancel()
		for _, done := range []<-chan error{first, second} {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v, want context.Canceled", err)
			}
		}
		synctest.Wait()
		infos, err := other.List(t.Context(), "k")
		if err != nil || len(infos) != 1 || len(infos[0].Waiters) != 0 {
			t.Errorf("the store still lists %+v, %v", infos, err)
		}
	})
}

// The next in the queue gives up in the moment in which the place is left to it.
func TestLocalQueue_placeIsGivenUpWhenWhoItWasLeftToIsGone(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		other := newLocker(t, store.Store, lockrt.Config{})
		mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		answer := make(chan struct{})
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				g, err := real.Acquire(ctx, req)
				<-answer
				return g, err
			}
		})
		wait := func() (context.CancelFunc, <-chan error) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever})
				done <- err
			}()
			synctest.Wait()
			return cancel, done
		}
		leaveFirst, first := wait()
		leaveSecond, second := wait()
		leaveFirst() // leaves its place, and is held up on its way back
		synctest.Wait()
		leaveSecond()
		<-second
		close(answer)
		<-first
		synctest.Wait()
		infos, err := other.List(t.Context(), "k")
		if err != nil || len(infos) != 1 || len(infos[0].Waiters) != 0 {
			t.Errorf("the store still lists %+v, %v", infos, err)
		}
	})
}

// The first in the queue goes to the store in the moment in which it joins, and others join after it.
func TestLocalQueue_joinedWhenTheLeaseCanNoLongerPassOn(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		tt := takeTurns{t, make(chan string, 10)}
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		time.Sleep(20 * time.Millisecond)
		for _, name := range []string{"first", "second", "third"} {
			tt.wait(locks, name)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		tt.want("first", "second", "third")
	})
}

// The place goes on to a caller that asks for another TTL, in the moment in which it is granted with the first one's.
// The lease is believed in for no longer than the store keeps it.
func TestLocalQueue_placeThatIsGrantedWithAnotherTTL(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		other := newLocker(t, store.Store, lockrt.Config{})
		held := mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		answer := make(chan struct{})
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				g, err := real.Acquire(ctx, req)
				if err != nil {
					<-answer
				}
				return g, err
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = locks.Acquire(ctx, "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever}) }()
		synctest.Wait()
		got := make(chan *lockrt.Lease, 1)
		go func() {
			lease, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: 10 * ttl, Wait: lockrt.Forever, NoRenew: true})
			if err != nil {
				t.Error(err)
			}
			got <- lease
		}()
		synctest.Wait()
		cancel() // leaves its place, and is held up on its way back
		synctest.Wait()
		if err := held.Release(t.Context()); err != nil { // to that place, with its TTL
			t.Fatal(err)
		}
		close(answer)
		lease := <-got
		info, err := other.Holder(t.Context(), "k")
		if err != nil || time.Until(lease.Deadline()) > info.Remaining {
			t.Errorf("the lease is believed in for %s, the store keeps it for %s (%v)", time.Until(lease.Deadline()), info.Remaining, err)
		}
	})
}
