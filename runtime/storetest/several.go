package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// severalTests are about sets of locks that are taken and lost together.
var severalTests = map[string]func(*testing.T, *env){
	"sets_that_overlap_in_any_order_do_not_deadlock": func(t *testing.T, e *env) {
		lockers := []*lockrt.Locker{e.locker("a"), e.locker("b"), e.locker("c")}
		sets := [][]string{{"x", "y", "z"}, {"z", "y"}, {"y", "x"}, {"z", "x", "z"}} // each key is in three
		rounds := e.rounds(5)
		var wg sync.WaitGroup
		held := map[string]*int{"x": new(int), "y": new(int), "z": new(int)} // each guarded by its lock alone
		for i, keys := range sets {
			wg.Go(func() {
				for range rounds {
					leases, err := lockers[i%3].AcquireAll(e.ctx, keys, lockrt.Options{TTL: long, Wait: testsync.Patience})
					if err != nil {
						t.Errorf("acquire %q: %v", keys, err)
						return
					}
					for _, lease := range leases {
						read := *held[lease.Key()]
						time.Sleep(50 * time.Microsecond)
						*held[lease.Key()] = read + 1
					}
					if err := leases.Release(e.ctx); err != nil {
						t.Errorf("release %q: %v", keys, err)
					}
				}
			})
		}
		wg.Wait()
		for key, n := range held {
			if *n != 3*rounds {
				t.Errorf("%q was counted %d times under its lock, want %d", key, *n, 3*rounds)
			}
		}
	},

	"a_set_is_held_whole_or_not_at_all": func(t *testing.T, e *env) {
		a, b := e.locker("a"), e.locker("b")
		var keys []string
		for i := range 10 { // enough to be asked for at the same time
			keys = append(keys, fmt.Sprint("k", i))
		}
		blocks := e.acquire(a, "k7")
		_, err := b.AcquireAll(e.ctx, keys, lockrt.Options{TTL: long})
		var busy *lockrt.BusyError
		if !errors.As(err, &busy) || busy.Key != "k7" || busy.Holder != "a" {
			t.Errorf("acquire all while one is held: %v, want that k7 is held by a", err)
		}
		e.onlyHeld(a, "k7")
		ctx, leave := context.WithCancel(e.ctx)
		_, done := e.waitForAll(ctx, b, keys, "k7")
		leave()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("acquire all until the context ends: %v, want context.Canceled", err)
		}
		e.onlyHeld(a, "k7")
		leases, done := e.waitForAll(e.ctx, b, keys, "k7")
		if err := blocks.Release(e.ctx); err != nil {
			t.Errorf("release what is in the way: %v", err)
		}
		if err := <-done; err != nil {
			t.Fatalf("acquire all when all become free: %v", err)
		}
		e.onlyHeld(a, keys...)
		for i, lease := range *leases {
			if lease.Key() != keys[i] || lease.Check(e.ctx) != nil {
				t.Errorf("lease %d is on %q, and its check says %v", i, lease.Key(), lease.Check(e.ctx))
			}
		}
		if err := leases.Release(e.ctx); err != nil {
			t.Errorf("release all: %v", err)
		}
		e.onlyHeld(a)
	},

	"loss_of_one_of_a_set_ends_the_context_of_all": func(t *testing.T, e *env) {
		a, b := e.locker("a"), e.locker("b")
		leases, err := a.AcquireAll(e.ctx, []string{"x", "y", "z"}, lockrt.Options{TTL: long})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Break(e.ctx, "x", "test"); errors.Is(err, errors.ErrUnsupported) {
			t.Skip("this store cannot break locks")
		} else if err != nil {
			t.Fatal(err)
		}
		testsync.Eventually(t, "the set's context ends", func() bool { return leases.Context().Err() != nil })
		if cause := context.Cause(leases.Context()); !errors.Is(cause, lockrt.ErrLost) {
			t.Errorf("the context's cause is %v, want ErrLost", cause)
		}
		if err := leases.Release(e.ctx); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("release of the set: %v, want ErrLost", err)
		}
		testsync.Eventually(t, "all locks of the set are free", func() bool { return len(e.heldKeys(b)) == 0 })
	},
}

// acquire takes a lock that is free.
func (e *env) acquire(l *lockrt.Locker, key string) *lockrt.Lease {
	e.t.Helper()
	lease, err := l.Acquire(e.ctx, key, lockrt.Options{TTL: long})
	if err != nil {
		e.t.Fatalf("acquire %q: %v", key, err)
	}
	return lease
}

// waitForAll starts an AcquireAll that has to wait, and returns when it waits for the key. The leases are there when the
// channel has its error.
func (e *env) waitForAll(ctx context.Context, l *lockrt.Locker, keys []string, key string) (*lockrt.Leases, <-chan error) {
	e.t.Helper()
	leases, done := new(lockrt.Leases), make(chan error, 1)
	go func() {
		var err error
		*leases, err = l.AcquireAll(ctx, keys, lockrt.Options{TTL: long, Wait: testsync.Patience})
		done <- err
	}()
	testsync.Eventually(e.t, fmt.Sprintf("the set waits for %q", key), func() bool {
		info, err := l.Holder(e.ctx, key)
		return err != nil || len(info.Waiters) > 0 || len(done) > 0
	})
	return leases, done
}

// heldKeys lists the keys that somebody holds, in their order.
func (e *env) heldKeys(l *lockrt.Locker) (keys []string) {
	e.t.Helper()
	infos, err := l.List(e.ctx, "")
	if err != nil {
		e.t.Fatalf("list: %v", err)
	}
	for _, info := range infos {
		keys = append(keys, info.Key)
	}
	slices.Sort(keys)
	return keys
}

// onlyHeld waits until these keys are held and no other. What was given up may go in the background.
func (e *env) onlyHeld(l *lockrt.Locker, keys ...string) {
	e.t.Helper()
	testsync.Eventually(e.t, fmt.Sprintf("only %q are held", keys), func() bool { return slices.Equal(e.heldKeys(l), keys) })
}
