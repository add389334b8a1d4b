package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

var lockerTests = map[string]func(*testing.T, *env){
	"counter_without_any_other_protection": func(t *testing.T, e *env) {
		lockers := make([]*lockrt.Locker, 3)
		for i := range lockers {
			lockers[i] = e.locker(fmt.Sprint("node", i))
		}
		const workers = 12
		rounds := e.rounds(25)
		var (
			wg      sync.WaitGroup
			counter int // guarded by the lock alone: the race detector is a second witness
			fences  []lockrt.Fence
		)
		for i := range workers {
			wg.Go(func() {
				for range rounds {
					err := lockers[i%3].Do(e.ctx, "counter", lockrt.Options{TTL: long, Wait: lockrt.Forever},
						func(_ context.Context, lease *lockrt.Lease) error {
							read := counter
							time.Sleep(50 * time.Microsecond)
							counter = read + 1
							fences = append(fences, lease.Fence())
							return nil
						})
					if err != nil {
						t.Errorf("worker %d: %v", i, err)
						return
					}
				}
			})
		}
		wg.Wait()
		if counter != workers*rounds {
			t.Errorf("the counter is %d after %d increments", counter, workers*rounds)
		}
		for i := 1; i < len(fences); i++ {
			if fences[i] <= fences[i-1] {
				t.Fatalf("fence %d after %d", fences[i], fences[i-1])
			}
		}
	},

	"renewed_lease_outlives_its_ttl": func(t *testing.T, e *env) {
		// The TTL leaves room for a machine that gives this process no time for a second.
		const ttl = 2 * time.Second
		a, b := e.locker("a"), e.locker("b")
		lease, err := a.Acquire(e.ctx, "k", lockrt.Options{TTL: ttl})
		if err != nil {
			t.Fatal(err)
		}
		first := lease.Deadline()
		testsync.Eventually(e.t, "the lease is renewed beyond its TTL", func() bool {
			return lease.Deadline().After(first.Add(ttl)) || lease.Err() != nil
		})
		if _, err := b.TryAcquire(e.ctx, "k", lockrt.Options{TTL: long}); !errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("somebody else acquires a renewed lock: %v", err)
		}
		if err := lease.Release(e.ctx); err != nil {
			t.Errorf("release: %v", err)
		}
	},

	"unrenewed_lease_is_cancelled_before_it_can_be_taken": func(t *testing.T, e *env) {
		a, b := e.locker("a"), e.locker("b")
		var lease *lockrt.Lease
		testsync.Eventually(t, "so short a lease is acquired before it is over", func() bool {
			var err error
			lease, err = a.Acquire(e.ctx, "k", lockrt.Options{TTL: short, NoRenew: true})
			return err == nil
		})
		if _, err := b.Acquire(e.ctx, "k", lockrt.Options{TTL: long, Wait: testsync.Patience}); err != nil {
			t.Fatal(err)
		}
		if lease.Err() == nil {
			t.Errorf("taken while the old holder believes in its lease")
		}
		<-lease.Context().Done()
		if cause := context.Cause(lease.Context()); !errors.Is(cause, lockrt.ErrLost) {
			t.Errorf("the context's cause is %v, want ErrLost", cause)
		}
		if err := lease.Release(e.ctx); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("release of the lost lease: %v, want ErrLost", err)
		}
	},

	"release_after_cancellation_frees_at_once": func(t *testing.T, e *env) {
		a := e.locker("a")
		ctx, cancel := context.WithCancel(e.ctx)
		lease, err := a.Acquire(ctx, "k", lockrt.Options{TTL: long})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		// Where the store is slow the release goes on in the background.
		if err := lease.Release(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("release with a cancelled context: %v", err)
		}
		if err := lease.Release(e.ctx); err != nil {
			t.Errorf("second release: %v", err)
		}
		testsync.Eventually(t, "the lock is free", func() bool {
			_, err := a.Holder(e.ctx, "k")
			return errors.Is(err, lockrt.ErrNotHeld)
		})
	},

	"check_asks_the_store": func(t *testing.T, e *env) {
		a, b := e.locker("a"), e.locker("b")
		lease, err := a.Acquire(e.ctx, "k", lockrt.Options{TTL: long})
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Check(e.ctx); err != nil {
			t.Errorf("check of a held lease: %v", err)
		}
		if err := b.Break(e.ctx, "k", "test"); errors.Is(err, errors.ErrUnsupported) {
			t.Skip("this store cannot break locks")
		}
		if err := lease.Check(e.ctx); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("check of a broken lease: %v, want ErrLost", err)
		}
		select {
		case <-lease.Context().Done():
		case <-time.After(testsync.Patience):
			t.Error("the context of a broken lease is not cancelled")
		}
	},

	"close_releases_what_is_held": func(t *testing.T, e *env) {
		a, b := e.locker("a"), e.locker("b")
		lease, err := a.Acquire(e.ctx, "k", lockrt.Options{TTL: long})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Close(e.ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if cause := context.Cause(lease.Context()); !errors.Is(cause, lockrt.ErrLost) || !errors.Is(cause, lockrt.ErrClosed) {
			t.Errorf("the context's cause is %v, want ErrLost and ErrClosed", cause)
		}
		if _, err := b.TryAcquire(e.ctx, "k", lockrt.Options{TTL: long}); err != nil {
			t.Errorf("acquire after the holder's process closed: %v", err)
		}
		if _, err := a.Acquire(e.ctx, "k2", lockrt.Options{TTL: long}); !errors.Is(err, lockrt.ErrClosed) {
			t.Errorf("acquire from a closed locker: %v, want ErrClosed", err)
		}
	},
}
