package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Lockers on a store that shares locks, and on one that does not.
var shareLockerTests = map[string]func(*testing.T, *env){
	"a_store_without_Sharer_refuses": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		if _, ok := s.(lockrt.Sharer); ok {
			t.Skip("this store has a Sharer")
		}
		l := e.locker("a")
		for _, o := range []lockrt.Options{{TTL: long, Mode: lockrt.Read}, {TTL: long, Permits: 2}} {
			if _, err := l.Acquire(e.ctx, "k", o); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("acquire with %+v: %v, want errors.ErrUnsupported", o, err)
			}
		}
		if lease := e.lease(l, "k", lockrt.Options{TTL: long}); !errors.Is(lease.Downgrade(e.ctx), errors.ErrUnsupported) {
			t.Error("a lease is downgraded")
		}
	},

	"a_mix_with_a_witness": func(t *testing.T, e *env) {
		e.sharer("witness")
		lockers := make([]*lockrt.Locker, 3)
		for i := range lockers {
			lockers[i] = e.locker(fmt.Sprint("node", i))
		}
		const workers, rounds, permits = 18, 15, 3
		w := witness{t: t, permits: permits, slots: make(map[int]bool)}
		var wg sync.WaitGroup
		for i := range workers {
			wg.Go(func() {
				for range rounds {
					o := lockrt.Options{TTL: long, Wait: lockrt.Forever}
					switch rand.N(6) {
					case 0, 1, 2:
						o.Mode = lockrt.Read
					case 3:
						o.Permits = permits
					}
					err := lockers[i%3].Do(e.ctx, "k", o, func(ctx context.Context, lease *lockrt.Lease) error {
						defer w.enters(o, lease)()
						time.Sleep(rand.N(300 * time.Microsecond))
						return ctx.Err()
					})
					if err != nil {
						t.Errorf("worker %d with %+v: %v", i, o, err)
						return
					}
				}
			})
		}
		wg.Wait()
		if w.together < 2 {
			t.Errorf("at most %d held the lock at the same time, want readers to share it", w.together)
		}
		s, _ := e.session("a")
		e.free(s, "k")
	},

	"a_downgraded_writer_reads_what_it_wrote": func(t *testing.T, e *env) {
		e.downgrader("witness")
		lockers := []*lockrt.Locker{e.locker("a"), e.locker("b")}
		const workers, rounds = 6, 15
		counter := 0 // guarded by the lock alone: the race detector is a second witness
		var wg sync.WaitGroup
		for i := range workers {
			wg.Go(func() {
				for range rounds {
					err := lockers[i%2].Do(e.ctx, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever},
						func(ctx context.Context, lease *lockrt.Lease) error {
							counter++
							wrote := counter
							if err := lease.Downgrade(ctx); err != nil {
								return err
							}
							time.Sleep(rand.N(300 * time.Microsecond))
							if counter != wrote {
								t.Errorf("a writer came in between: %d after %d", counter, wrote)
							}
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
	},
}

// witness counts who is inside, and knows who may be there together.
type witness struct {
	t       *testing.T
	permits int

	mu                        sync.Mutex // guards what follows
	writers, readers, holders int
	together                  int
	slots                     map[int]bool
	highest                   lockrt.Fence // of writers
}

// enters says that somebody has come in. The returned function says that it goes.
func (w *witness) enters(o lockrt.Options, lease *lockrt.Lease) (leaves func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	slot, fence := lease.Slot(), lease.Fence()
	count := &w.writers
	switch {
	case o.Permits > 0:
		count = &w.holders
		if slot < 0 || slot >= w.permits || w.slots[slot] {
			w.t.Errorf("slot %d is given while %v are taken", slot, w.slots)
		}
		w.slots[slot] = true
	case o.Mode == lockrt.Read:
		count = &w.readers
	}
	*count++
	w.together = max(w.together, *count)
	kinds := 0
	for _, n := range []int{w.writers, w.readers, w.holders} {
		kinds += min(n, 1)
	}
	if kinds > 1 || w.writers > 1 || w.holders > w.permits {
		w.t.Errorf("%d writers, %d readers and %d permits hold the lock together", w.writers, w.readers, w.holders)
	}
	if fence <= w.highest {
		w.t.Errorf("the fence %d follows a writer's %d", fence, w.highest)
	}
	if count == &w.writers {
		w.highest = fence
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		*count--
		delete(w.slots, slot)
	}
}
