package lockrt_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// company knows who may be inside together.
type company struct {
	t *testing.T

	mu      sync.Mutex // guards what follows
	inside  map[*lockrt.Lease]lockrt.Options
	highest lockrt.Fence // of those who wrote
	most    map[string]int
}

// kindName is what those have in common who may be inside together.
func kindName(o lockrt.Options) string {
	switch {
	case o.Permits > 0:
		return "permits"
	case o.Mode == lockrt.Read:
		return "readers"
	}
	return "writers"
}

func (c *company) enter(lease *lockrt.Lease, o lockrt.Options) {
	c.mu.Lock()
	defer c.mu.Unlock()
	beside, fence, limit := 0, lease.Fence(), o.Permits
	for other, held := range c.inside {
		if other.Err() != nil {
			continue // lost, and may still be about to leave
		}
		beside++
		limit = max(limit, held.Permits)
		if kindName(held) != kindName(o) || kindName(o) == "writers" {
			c.t.Errorf("%s with fence %d beside %s with fence %d", kindName(o), fence, kindName(held), other.Fence())
		}
		if other.Slot() == lease.Slot() && o.Permits > 0 {
			c.t.Errorf("slot %d is given twice", lease.Slot())
		}
	}
	// A permit of two that stands beside two of three may pass on in its process: that makes them no more.
	if o.Permits > 0 && beside >= limit {
		c.t.Errorf("one of %d permits beside %d", limit, beside)
	}
	if kindName(o) == "writers" {
		if fence <= c.highest {
			c.t.Errorf("a writer's fence is %d after %d", fence, c.highest)
		}
		c.highest = fence
	} else if fence < c.highest {
		c.t.Errorf("the fence of %s is %d after a writer's %d", kindName(o), fence, c.highest)
	}
	c.inside[lease] = o
	c.most[kindName(o)] = max(c.most[kindName(o)], beside+1)
}

// downgraded says that somebody inside only reads from now on.
func (c *company) downgraded(lease *lockrt.Lease, o lockrt.Options) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.inside[lease]; ok {
		o.Mode = lockrt.Read
		c.inside[lease] = o
	}
}

func (c *company) leave(lease *lockrt.Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.inside, lease)
}

// Three Lockers, many callers, all kinds, and everything that may happen to a lease.
func TestLocker_kindsChaos(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				store := &sharingStore{faultStore: &faultStore{Store: memstore.New()}, noRecall: seed%2 == 0}
				store.acquire = oneKindEach(t)
				c := &company{t: t, inside: make(map[*lockrt.Lease]lockrt.Options), most: make(map[string]int)}
				var lockers []*lockrt.Locker
				for range 3 {
					lockers = append(lockers, newLocker(t, store, lockrt.Config{}))
				}
				var wg sync.WaitGroup
				for i := range 24 {
					rnd := rand.New(rand.NewPCG(seed, uint64(i)))
					wg.Go(func() {
						for range 40 {
							visit(c, lockers[i%3], rnd)
						}
					})
				}
				wg.Wait()
				for kind, most := range c.most {
					if kind != "writers" && most < 2 {
						t.Errorf("%s were never inside together", kind)
					}
				}
				mustRelease(t, mustAcquire(t, lockers[0], t.Context(), "k", write)) // nothing is left behind
			})
		})
	}
}

// oneKindEach checks that a place in the store's queue, which goes from caller to caller, is for leases of one kind.
func oneKindEach(t *testing.T) func(context.Context, lockrt.Request, lockrt.Session) (lockrt.Grant, error) {
	var mu sync.Mutex
	kinds := make(map[string]lockrt.KeyOptions)
	return func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
		mu.Lock()
		kind := lockrt.KeyOptions{Mode: req.Mode, Permits: req.Permits}
		if was, known := kinds[req.ID]; known && was != kind {
			t.Errorf("the place %s of %+v is used for %+v", req.ID, was, kind)
		}
		kinds[req.ID] = kind
		mu.Unlock()
		return real.Acquire(ctx, req)
	}
}

// visit is one caller's turn.
func visit(c *company, locks *lockrt.Locker, rnd *rand.Rand) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := lockrt.Options{TTL: []time.Duration{ttl, 2 * ttl}[rnd.IntN(4)/3], Wait: lockrt.Forever}
	switch rnd.IntN(6) {
	case 0, 1, 2:
		o.Mode = lockrt.Read
	case 3:
		o.Permits = 2 + rnd.IntN(2)
	}
	patient := rnd.IntN(3) > 0
	if !patient {
		switch rnd.IntN(3) {
		case 0:
			o.Wait = 0
		case 1:
			o.Wait = time.Duration(rnd.IntN(20)) * time.Millisecond
		case 2:
			defer time.AfterFunc(time.Duration(rnd.IntN(20))*time.Millisecond, cancel).Stop()
		}
	}
	o.NoRenew = rnd.IntN(20) == 0
	if rnd.IntN(20) == 0 {
		o.MaxHold = time.Millisecond
	}
	lease, err := locks.Acquire(ctx, "k", o)
	if err != nil {
		if patient && !errors.Is(err, lockrt.ErrLost) {
			c.t.Errorf("a patient caller with %+v: %v", o, err)
		}
		return
	}
	c.enter(lease, o)
	time.Sleep(time.Duration(rnd.IntN(3000)) * time.Microsecond)
	switch rnd.IntN(30) {
	case 0:
		_ = locks.Break(context.Background(), "k", "chaos")
	case 1:
		_ = lease.Extend(context.Background(), o.TTL)
	case 2, 3, 4:
		if kindName(o) == "writers" {
			c.downgraded(lease, o)
			if err := lease.Downgrade(context.Background()); err != nil && !errors.Is(err, lockrt.ErrLost) {
				c.t.Errorf("downgrade: %v", err)
			}
			time.Sleep(time.Duration(rnd.IntN(3000)) * time.Microsecond)
		}
	}
	c.leave(lease)
	if err := lease.Release(context.Background()); err != nil && !errors.Is(err, lockrt.ErrLost) {
		c.t.Errorf("release: %v", err)
	}
}
