package lockrt_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// counted counts the calls to the store.
type counted struct{ acquires, releases atomic.Int64 }

func (c *counted) install(store *faultStore) {
	store.set(func(s *faultStore) {
		s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
			c.acquires.Add(1)
			return real.Acquire(ctx, req)
		}
		s.release = func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
			c.releases.Add(1)
			return real.Release(ctx, rel)
		}
	})
}

// queueUp starts n callers that wait for key, one after another, and tells in which order they got it.
func queueUp(t *testing.T, locks *lockrt.Locker, key string, n int, o lockrt.Options, work func(i int, lease *lockrt.Lease)) *sync.WaitGroup {
	t.Helper()
	wg := new(sync.WaitGroup)
	for i := range n {
		wg.Go(func() {
			if err := locks.Do(t.Context(), key, o, func(_ context.Context, lease *lockrt.Lease) error {
				work(i, lease)
				return nil
			}); err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		})
		synctest.Wait()
	}
	return wg
}

func TestLocalQueue_leasePassesOnWithoutTheStore(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		calls := new(counted)
		calls.install(store)
		first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		fence, next := first.Fence(), 0
		wg := queueUp(t, locks, "k", 20, lockrt.Options{TTL: ttl, Wait: lockrt.Forever}, func(i int, lease *lockrt.Lease) {
			if i != next {
				t.Errorf("caller %d has its turn, want %d: first come first served", i, next)
			}
			next++
			if lease.Fence() <= fence {
				t.Errorf("fence %d after %d", lease.Fence(), fence)
			}
			fence = lease.Fence()
		})
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := first.Err(); !errors.Is(err, lockrt.ErrNotHeld) || first.Context().Err() == nil {
			t.Errorf("after its lease was passed on Err is %v and the context's error %v", err, first.Context().Err())
		}
		if err := first.Release(t.Context()); err != nil {
			t.Errorf("second release: %v", err)
		}
		wg.Wait()
		if a, r := calls.acquires.Load(), calls.releases.Load(); a != 1 || r != 1 {
			t.Errorf("%d acquires and %d releases at the store for 21 turns, want 1 and 1", a, r)
		}
	})
}

func TestLocalQueue_handOffsAreBounded(t *testing.T) {
	for name, test := range map[string]struct {
		cfg  lockrt.Config
		work time.Duration // how long each turn takes
		want int64         // acquires at the store for 1 + 20 turns
	}{
		"count":       {lockrt.Config{LocalHandoffs: 4}, 0, 5}, // 5 turns under each grant
		"time":        {lockrt.Config{LocalHandoffTime: 10 * time.Millisecond}, 5 * time.Millisecond, 11},
		"never":       {lockrt.Config{LocalHandoffs: -1}, 0, 21},
		"by default":  {lockrt.Config{}, 0, 1},
		"longer work": {lockrt.Config{}, time.Second, 21},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
				locks := newLocker(t, store, test.cfg)
				calls := new(counted)
				calls.install(store)
				first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
				wg := queueUp(t, locks, "k", 20, lockrt.Options{TTL: ttl, Wait: lockrt.Forever}, func(int, *lockrt.Lease) {
					time.Sleep(test.work)
				})
				time.Sleep(test.work)
				if err := first.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				wg.Wait()
				if got := calls.acquires.Load(); got != test.want {
					t.Errorf("%d acquires at the store, want %d", got, test.want)
				}
			})
		})
	}
}

func TestLocalQueue_otherProcessesGetTheirTurn(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		// One process never stops wanting the lock; the other wants it once.
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for ctx.Err() == nil {
					_ = locks.Do(ctx, "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever}, func(context.Context, *lockrt.Lease) error {
						time.Sleep(time.Millisecond)
						return nil
					})
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		other := newLocker(t, store, lockrt.Config{})
		mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever})
		if waited := time.Since(start); waited > 11*time.Millisecond {
			t.Errorf("waited %s, want at most LocalHandoffTime (10 ms) and one turn", waited)
		}
		stop()
		wg.Wait()
	})
}

func TestLocalQueue_minHoldKeepsTheLockFromTheNextHereToo(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		start := time.Now()
		first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, MinHold: ttl / 2})
		wg := queueUp(t, locks, "k", 1, lockrt.Options{TTL: ttl, Wait: lockrt.Forever}, func(int, *lockrt.Lease) {
			if waited := time.Since(start); waited != ttl/2 {
				t.Errorf("the next has its turn after %s, want %s", waited, ttl/2)
			}
		})
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
	})
}

func TestLocalQueue_tryWhileHeldHereAsksNobody(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		locks := newLocker(t, store, lockrt.Config{Node: "me"})
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		calls := new(counted)
		calls.install(store)
		_, err := locks.TryAcquire(t.Context(), "k", lockrt.Options{TTL: ttl})
		var busy *lockrt.BusyError
		if !errors.As(err, &busy) || busy.Holder != "me" || busy.Remaining != ttl {
			t.Errorf("the error is %v, want busy by me for %s", err, ttl)
		}
		if calls.acquires.Load() != 0 {
			t.Error("the store was asked")
		}
	})
}

// A caller that joins after the last one has left is at the head of those who wait.
func TestLocalQueue_joinedAgainAfterItWasEmpty(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		o := lockrt.Options{TTL: ttl, Wait: ttl}
		holder := mustAcquire(t, locks, t.Context(), "k", o)
		for range 3 {
			next := acquiring(t, locks, "k", o)
			if err := holder.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			holder = <-next
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if _, err := locks.Acquire(ctx, "k", o); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("one that left the queue: %v, want its context's error", err)
			}
			cancel()
		}
	})
}
