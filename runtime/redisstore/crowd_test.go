package redisstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// A thousand want one lock, most of them not for long. The patient are all served, nobody beside another, and nothing
// is left of those who gave up.
func TestFault_thousandWaitersCancelAtRandom(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	admin := newClient(t, server)
	thing := &resource{t: t}
	lockers := make([]*lockrt.Locker, 4)
	for i := range lockers {
		change := []func(*lockrt.Config){strict, func(*lockrt.Config) {}}[i%2]
		lockers[i] = newLocker(t, newClient(t, server), redisstore.Config{}, change)
	}
	const waiters, patientEvery = 1000, 10
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		served int
	)
	gate := mustAcquire(ctx, t, lockers[0], "k", lockrt.Options{TTL: long})
	for i := range waiters {
		patient := i%patientEvery == 0
		wg.Go(func() {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			if !patient {
				timer := time.AfterFunc(rand.N(400*time.Millisecond), cancel)
				defer timer.Stop()
			}
			err := lockers[i%len(lockers)].Do(ctx, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever}, func(_ context.Context, lease *lockrt.Lease) error {
				thing.leave(thing.enter(lease))
				return nil
			})
			switch {
			case err == nil:
				mu.Lock()
				served++
				mu.Unlock()
			case patient || !errors.Is(err, context.Canceled):
				t.Errorf("waiter %d: %v", i, err)
			}
		})
	}
	queued(t, lockers[1], "k", 100) // as many as are listed
	mustRelease(ctx, t, gate)
	wg.Wait()
	if served < waiters/patientEvery || served != thing.count() {
		t.Errorf("%d were served in %d visits, want the %d patient ones at least", served, thing.count(), waiters/patientEvery)
	}
	testsync.Eventually(t, "nothing is left but the floor", func() bool {
		return admin.Exists(ctx, "lock:{k}", "lock:{k}:queue").Val() == 0
	})
	t.Logf("%d of %d were served", served, waiters)
}
