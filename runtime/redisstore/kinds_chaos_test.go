package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/lockchaos"
	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// kindWitness knows which leases may be alive together. A lease that is alive when it is looked at has been alive since
// it was acquired; so two that the witness sees alive have overlapped, whatever the scheduler does.
type kindWitness struct {
	mu      sync.Mutex
	inside  map[*lockrt.Lease]lockrt.Options
	highest lockrt.Fence // of those who were alone
	entered map[string]int
	wrong   []string
}

func (w *kindWitness) enter(lease *lockrt.Lease, o lockrt.Options) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kind, permits, limit := lockchaos.Kind(o), 1, o.Permits // who names a larger number may join those with a smaller one
	var against []string
	for other, its := range w.inside {
		alive := other.Err() == nil
		switch {
		case !alive:
		case kind == "writer" || lockchaos.Kind(its) != kind:
			against = append(against, fmt.Sprint(lockchaos.Kind(its), " with fence ", other.Fence()))
		case kind == "permit":
			limit = max(limit, its.Permits)
			if permits++; other.Slot() == lease.Slot() {
				against = append(against, fmt.Sprint("another with slot ", lease.Slot()))
			}
		}
	}
	if permits > max(limit, 1) {
		against = append(against, fmt.Sprint(permits, " of ", limit, " permits"))
	}
	if kind == "writer" && lease.Fence() <= w.highest || lease.Fence() < w.highest {
		against = append(against, fmt.Sprint("a writer with fence ", w.highest, " before"))
	}
	if lease.Err() != nil {
		return // it may have been over when the others were looked at
	}
	if len(against) > 0 {
		w.wrong = append(w.wrong, fmt.Sprint(kind, " with fence ", lease.Fence(), " beside ", against))
	}
	if kind == "writer" {
		w.highest = max(w.highest, lease.Fence())
	}
	w.inside[lease] = o
	w.entered[kind]++
}

func (w *kindWitness) leave(lease *lockrt.Lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.inside, lease)
}

// Processes whose connections are cut, whose leases are broken and whose callers give up use one lock in all ways.
func TestKinds_chaos(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	witness := &kindWitness{inside: map[*lockrt.Lease]lockrt.Options{}, entered: map[string]int{}}
	kinds := []lockrt.Options{{}, {Mode: lockrt.Read}, {Mode: lockrt.Read}, {Permits: 2}, {Permits: 3}}
	const workers, turns = 12, 60
	var lockers []*lockrt.Locker
	for range 4 {
		locks, err := lockrt.New(redisstore.New(newClient(t, server), redisstore.Config{}), lockrt.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = locks.Close(context.Background()) })
		lockers = append(lockers, locks)
	}
	var working sync.WaitGroup
	for i := range workers {
		working.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for range turns {
				o := kinds[random.IntN(len(kinds))]
				o.TTL, o.Wait = 3*time.Second, lockrt.Forever
				call, cancel := context.WithCancel(ctx)
				if random.IntN(4) == 0 {
					time.AfterFunc(time.Duration(random.IntN(20))*time.Millisecond, cancel)
				}
				if lease, err := lockers[i%len(lockers)].Acquire(call, "k", o); err == nil {
					witness.enter(lease, o)
					time.Sleep(time.Duration(random.IntN(2000)) * time.Microsecond)
					if lockchaos.Kind(o) == "writer" && random.IntN(3) == 0 {
						witness.leave(lease)
						if lease.Downgrade(ctx) == nil {
							witness.enter(lease, lockrt.Options{Mode: lockrt.Read})
						}
					}
					witness.leave(lease)
					_ = lease.Release(ctx)
				} else if call.Err() == nil && !errors.Is(err, lockrt.ErrLost) {
					t.Logf("acquire: %v", err)
				}
				cancel()
			}
		})
	}
	over := make(chan struct{})
	go func() { working.Wait(); close(over) }()
	disturb(ctx, t, server, lockers[0], over)
	for _, wrong := range witness.wrong {
		t.Error(wrong)
	}
	t.Logf("entered: %v", witness.entered)
	for _, kind := range []string{"writer", "reader", "permit"} {
		if witness.entered[kind] == 0 {
			t.Errorf("no %s ever had the lock", kind)
		}
	}
	for _, locks := range lockers {
		if err := locks.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// disturb cuts lines and breaks leases until all workers have ended.
func disturb(ctx context.Context, t *testing.T, server *testenv.RedisServer, locks *lockrt.Locker, over <-chan struct{}) {
	t.Helper()
	client := newClient(t, server)
	for n := 0; ; n++ {
		select {
		case <-over:
			return
		case <-ctx.Done():
			t.Fatal("the workers do not come to an end: somebody waits for ever")
		case <-time.After(20 * time.Millisecond):
		}
		switch n % 4 {
		case 0:
			_ = client.ClientKillByFilter(ctx, "TYPE", "pubsub").Err()
		case 1:
			_ = client.ClientKillByFilter(ctx, "TYPE", "normal", "SKIPME", "yes").Err()
		case 2:
			_ = locks.Break(ctx, "k", "chaos")
		case 3:
			_ = client.ScriptFlush(ctx).Err()
		}
	}
}
