package lockrt_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// TestLocalQueue_turnThatComesWithTheEndOfTheWait lets a caller's turn and the end of its context come in the same moment:
// whichever it sees first, the one behind it must get its turn.
func TestLocalQueue_turnThatComesWithTheEndOfTheWait(t *testing.T) {
	for range 50 { // select chooses at random
		bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
			other := newLocker(t, store.Store, lockrt.Config{})
			held := mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: ttl})
			ctx, cancel := context.WithCancel(t.Context())
			var impatient sync.WaitGroup
			for range 3 { // one asks the store, two wait behind it
				impatient.Go(func() {
					if _, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever}); !errors.Is(err, context.Canceled) {
						t.Errorf("the error is %v", err)
					}
				})
				synctest.Wait()
			}
			wg := queueUp(t, locks, "k", 1, lockrt.Options{TTL: ttl, Wait: lockrt.Forever}, func(int, *lockrt.Lease) {})
			cancel()
			impatient.Wait()
			if err := held.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			wg.Wait()
		})
	}
}

func TestLocalQueue_headThatFailsMakesRoom(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		other := newLocker(t, store.Store, lockrt.Config{Node: "other"})
		held := mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: ttl})
		ctx, cancel := context.WithCancel(t.Context())
		head := make(chan error)
		go func() {
			_, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever})
			head <- err
		}()
		synctest.Wait()
		wg := queueUp(t, locks, "k", 1, lockrt.Options{TTL: ttl, Wait: lockrt.Forever}, func(int, *lockrt.Lease) {})
		_, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: time.Millisecond})
		var busy *lockrt.BusyError
		if !errors.As(err, &busy) || busy.Holder != "other" {
			t.Errorf("a wait in the queue that ran out: %v, want busy by other", err)
		}
		if _, err := locks.TryAcquire(t.Context(), "k", lockrt.Options{TTL: ttl}); !errors.As(err, &busy) || busy.Holder != "other" {
			t.Errorf("a try behind the queue: %v, want busy by other", err)
		}
		cancel()
		if err := <-head; !errors.Is(err, context.Canceled) {
			t.Errorf("the head's error is %v", err)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
	})
}

// TestLocalQueue_randomCancellation lets callers of two processes come and go at random; the counter is guarded by the lock
// alone and the fences must grow.
func TestLocalQueue_randomCancellation(t *testing.T) {
	store := memstore.New()
	var (
		wg            sync.WaitGroup
		counter, want int
		last          lockrt.Fence
		served        atomic.Int64
	)
	lockers := []*lockrt.Locker{
		newLocker(t, store, lockrt.Config{LocalHandoffs: 3}), newLocker(t, store, lockrt.Config{}),
	}
	for i := range 400 {
		wg.Go(func() {
			ctx := t.Context()
			if i%4 != 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, rand.N(30*time.Millisecond))
				defer cancel()
			}
			o := lockrt.Options{TTL: time.Minute, Wait: lockrt.Forever}
			if i%7 == 0 {
				o.Wait = rand.N(10 * time.Millisecond)
			}
			err := lockers[i%2].Do(ctx, "k", o, func(_ context.Context, lease *lockrt.Lease) error {
				if lease.Fence() <= last {
					return fmt.Errorf("fence %d after %d", lease.Fence(), last)
				}
				last = lease.Fence()
				read := counter
				time.Sleep(rand.N(100 * time.Microsecond))
				counter = read + 1
				want++
				served.Add(1)
				return nil
			})
			// A wait of a few milliseconds may be over on a busy machine before it is known who has the lock.
			short := o.Wait != lockrt.Forever && err != nil && strings.Contains(err.Error(), ": waited for ")
			if err != nil && !errors.Is(err, lockrt.ErrBusy) && !errors.Is(err, ctx.Err()) && !short {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if counter != want || int64(counter) != served.Load() {
		t.Errorf("the counter is %d after %d turns", counter, served.Load())
	}
	for i, locks := range lockers {
		lease, err := locks.TryAcquire(t.Context(), "k", lockrt.Options{TTL: time.Minute})
		if err != nil {
			t.Errorf("the lock is not free at the end for locker %d: %v", i, err)
		}
		_ = lease.Release(t.Context())
	}
}

// The time that a caller has waited in the local queue is time that it has waited.
func TestLocalQueue_waitHereAndAtTheStoreIsOne(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		other := newLocker(t, store.Store, lockrt.Config{})
		mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		head, leave := context.WithTimeout(t.Context(), 3*time.Second)
		defer leave()
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = locks.Acquire(head, "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever}) })
		synctest.Wait()
		start := time.Now()
		_, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: 5 * time.Second})
		if waited := time.Since(start); !errors.Is(err, lockrt.ErrBusy) || waited != 5*time.Second {
			t.Errorf("%v after %s, want busy after 5s: 3 in the queue and 2 at its head", err, waited)
		}
		wg.Wait()
	})
}

// slowContext has ended, and does something before it says so.
type slowContext struct {
	context.Context
	act func()
}

func (c slowContext) Err() error {
	err := c.Context.Err()
	if err != nil {
		c.act()
	}
	return err
}

// A lease passes on to a caller that is just leaving the queue. It is released, renewed no more, and no loss to
// anybody.
func TestLocalQueue_leaseThatPassesToOneThatLeaves(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		var log testsync.Log
		locks := newLocker(t, store, lockrt.Config{Logger: log.Logger()})
		first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		ended, cancel := context.WithCancel(t.Context())
		leaving := slowContext{ended, sync.OnceFunc(func() {
			if err := first.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})}
		time.AfterFunc(time.Millisecond, cancel)
		if _, err := locks.Acquire(leaving, "k", lockrt.Options{TTL: ttl, Wait: ttl}); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v, want context.Canceled", err)
		}
		if _, err := locks.Holder(t.Context(), "k"); !errors.Is(err, lockrt.ErrNotHeld) {
			t.Errorf("the holder is known (error %v), want ErrNotHeld", err)
		}
		time.Sleep(2 * ttl)
		if log.String() != "" {
			t.Errorf("the log tells of something:\n%s", log.String())
		}
	})
}

// Who wait in the local queue behind a holder of this process is told of Close, which does not end the lease before.
func TestLocalQueue_closeEndsTheWait(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		locks := newLocker(t, store, lockrt.Config{})
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		waited := make(chan error)
		go func() {
			_, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever})
			waited <- err
		}()
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- locks.Close(t.Context()) }()
		if err := <-waited; !errors.Is(err, lockrt.ErrClosed) || errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("the wait ended with %v, want ErrClosed", err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// A crowd gives up at once, with one left: that one gets the lock, and the store is not asked for each of the others.
func TestLocalQueue_crowdGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		calls := new(counted)
		calls.install(store)
		other := newLocker(t, store.Store, lockrt.Config{})
		held := mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		const crowd = 10_000
		var wg sync.WaitGroup
		for range crowd {
			wg.Go(func() {
				if _, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever}); err == nil {
					t.Error("somebody of the crowd got the lock")
				}
			})
		}
		synctest.Wait()
		got := make(chan error, 1)
		go func() {
			lease, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever})
			got <- errors.Join(err, lease.Release(t.Context()))
		}()
		synctest.Wait()
		cancel()
		wg.Wait()
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Error(err)
		}
		if n := calls.acquires.Load(); n > 10 {
			t.Errorf("the store was asked %d times for a crowd of %d", n, crowd)
		}
	})
}
