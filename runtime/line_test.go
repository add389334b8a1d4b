package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
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

func TestLine_leasePassesOnWithoutTheStore(t *testing.T) {
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

func TestLine_handOffsAreBounded(t *testing.T) {
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

func TestLine_otherProcessesGetTheirTurn(t *testing.T) {
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

func TestLine_leaseWithAnotherTTLIsNotPassedOn(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		calls := new(counted)
		calls.install(store)
		first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: 100 * ttl})
		wg := queueUp(t, locks, "k", 1, lockrt.Options{TTL: ttl, Wait: lockrt.Forever}, func(_ int, lease *lockrt.Lease) {
			// If this process died now, the lock must be free after ttl.
			info, err := locks.Holder(t.Context(), "k")
			if err != nil || info.Remaining > ttl {
				t.Errorf("the store keeps the lock for %s (error %v), want at most %s", info.Remaining, err, ttl)
			}
		})
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
	})
}

func TestLine_leaseThatIsUsedUpIsRenewedBeforeItPassesOn(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		locks := newLocker(t, store, lockrt.Config{LocalHandoffTime: time.Hour})
		first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: true})
		wg := queueUp(t, locks, "k", 1, lockrt.Options{TTL: ttl, Wait: lockrt.Forever, NoRenew: true}, func(_ int, lease *lockrt.Lease) {
			if left := time.Until(lease.Deadline()); left != ttl-ttlMargin {
				t.Errorf("%s are left at the start of the turn, want %s", left, ttl-ttlMargin)
			}
		})
		time.Sleep(ttl / 2)
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
	})
}

func TestLine_renewalFollowsTheTurn(t *testing.T) {
	for _, second := range []bool{true, false} { // NoRenew of the lease that the grant passes on to
		t.Run(fmt.Sprintf("NoRenew=%v", second), func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
				locks := newLocker(t, store, lockrt.Config{LocalHandoffTime: time.Hour})
				first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: !second})
				passed := make(chan *lockrt.Lease)
				go func() {
					lease, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever, NoRenew: second})
					if err != nil {
						t.Error(err)
					}
					passed <- lease
				}()
				synctest.Wait()
				if err := first.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				lease := <-passed
				time.Sleep(ttl)
				if lost := lease.Err() != nil; lost != second {
					t.Errorf("lost after a TTL is %v", lost)
				}
			})
		})
	}
}

func TestLine_renewalInFlightDoesNotServeTheNextLease(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		locks := newLocker(t, store, lockrt.Config{LocalHandoffTime: time.Hour})
		answer := make(chan struct{})
		store.set(func(s *faultStore) {
			s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
				errs := real.Renew(ctx, renewals)
				<-answer
				return errs
			}
		})
		first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		passed := make(chan *lockrt.Lease)
		go func() {
			lease, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever, NoRenew: true})
			if err != nil {
				t.Error(err)
			}
			passed <- lease
		}()
		time.Sleep(ttl * 4 / 10) // the first's renewal is under way
		store.set(func(s *faultStore) { s.renew = nil })
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		lease := <-passed
		close(answer)
		time.Sleep(ttl + ttl/10)
		if lease.Err() == nil {
			t.Error("a lease with NoRenew is renewed because the one before it was")
		}
	})
}

func TestLine_minHoldKeepsTheLockFromTheNextHereToo(t *testing.T) {
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

func TestLine_nextBehindALostLeaseAsksTheStore(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: true}) // never released
		wg := queueUp(t, locks, "k", 1, lockrt.Options{TTL: ttl, Wait: lockrt.Forever}, func(_ int, lease *lockrt.Lease) {
			if first.Err() == nil {
				t.Error("two leases are live")
			}
		})
		wg.Wait()
	})
}

// TestLine_turnThatComesWithTheEndOfTheWait lets a caller's turn and the end of its context come in the same moment:
// whichever it sees first, the one behind it must get its turn.
func TestLine_turnThatComesWithTheEndOfTheWait(t *testing.T) {
	for range 50 { // select chooses at random
		bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
			other := newLocker(t, store.Store, lockrt.Config{})
			held := mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: ttl})
			ctx, cancel := context.WithCancel(t.Context())
			var impatient sync.WaitGroup
			for range 3 { // one asks the store, two stand in line behind it
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

func TestLine_lossReachesOnlyTheOneWhoseTurnItIs(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, MaxHold: ttl / 2})
		wg := queueUp(t, locks, "k", 1, lockrt.Options{TTL: ttl, Wait: lockrt.Forever}, func(_ int, lease *lockrt.Lease) {
			time.Sleep(ttl) // beyond the first's MaxHold
			if err := lease.Err(); err != nil {
				t.Errorf("lost: %v", err)
			}
		})
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
	})
}

func TestLine_headThatFailsMakesRoom(t *testing.T) {
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
			t.Errorf("a wait in line that ran out: %v, want busy by other", err)
		}
		if _, err := locks.TryAcquire(t.Context(), "k", lockrt.Options{TTL: ttl}); !errors.As(err, &busy) || busy.Holder != "other" {
			t.Errorf("a try behind the line: %v, want busy by other", err)
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

func TestLine_tryWhileHeldHereAsksNobody(t *testing.T) {
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

// TestLine_randomCancellation lets callers of two processes come and go at random; the counter is guarded by the lock
// alone and the fences must grow.
func TestLine_randomCancellation(t *testing.T) {
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
			if err != nil && !errors.Is(err, lockrt.ErrBusy) && !errors.Is(err, ctx.Err()) {
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
