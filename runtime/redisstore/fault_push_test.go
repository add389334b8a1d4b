package redisstore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// A push is a hint: with all of them lost, what waits finds out by itself when the lease in its way should be over.
func TestFault_allPushesDropped(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	p := newProxy(t, server.Addr())
	p.set(func() { p.reply = pushes })
	thing := &resource{t: t}
	const processes, rounds = 3, 3
	var wg sync.WaitGroup
	for range processes {
		locks := newLocker(t, p.client(), redisstore.Config{}, strict)
		wg.Go(func() { goRound(ctx, t, locks, thing, rounds, 400*time.Millisecond) })
	}
	wg.Wait()
	if thing.count() != processes*rounds {
		t.Errorf("%d visits, want %d", thing.count(), processes*rounds)
	}
	if p.lost() == 0 {
		t.Error("no push was dropped: the test did not test anything")
	}
}

// goRound uses the resource so many times.
func goRound(ctx context.Context, t *testing.T, locks *lockrt.Locker, thing *resource, rounds int, ttl time.Duration) {
	for range rounds {
		err := locks.Do(ctx, "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever}, func(_ context.Context, lease *lockrt.Lease) error {
			thing.leave(thing.enter(lease))
			return nil
		})
		if err != nil {
			t.Errorf("visit: %v", err)
			return
		}
	}
}

// The grant is pushed while the waiter's subscription is down. When it comes back, the waiter asks, and does not sit
// out the ten minutes of the lease that was in its way.
func TestFault_pushLostWhileNotSubscribed(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	direct := newClient(t, server)
	holder := newLocker(t, direct, redisstore.Config{})
	p := newProxy(t, server.Addr())
	locks := newLocker(t, p.client(), redisstore.Config{})

	lease := mustAcquire(ctx, t, holder, "k", lockrt.Options{TTL: long})
	next := acquiring(ctx, locks, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
	queued(t, holder, "k", 1)
	p.refuse()
	testsync.Eventually(t, "only the holder is subscribed", func() bool { return len(direct.PubSubChannels(ctx, "lockgen:*").Val()) == 1 })
	mustRelease(ctx, t, lease)
	p.accept()
	taken := (<-next).must(t)
	if err := taken.Check(ctx); err != nil || taken.Fence() <= lease.Fence() {
		t.Errorf("fence %d after %d, check: %v", taken.Fence(), lease.Fence(), err)
	}
	mustRelease(ctx, t, taken)
}

// Somebody kills the subscriptions again and again while the lock goes round. It goes on, each visit alone.
func TestFault_subscriptionsKilled(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	admin := newClient(t, server)
	thing := &resource{t: t}
	var killed atomic.Int64
	var wg sync.WaitGroup
	for range 3 {
		locks := newLocker(t, newClient(t, server), redisstore.Config{}, strict)
		wg.Go(func() {
			for killed.Load() < 60 && !t.Failed() {
				goRound(ctx, t, locks, thing, 10, 3*time.Second)
			}
		})
	}
	for killed.Load() < 60 && ctx.Err() == nil {
		before := thing.count()
		n, err := admin.ClientKillByFilter(ctx, "TYPE", "pubsub").Result()
		if err != nil {
			t.Errorf("kill: %v", err)
			break
		}
		killed.Add(n)
		testsync.Eventually(t, "the lock goes round after the kill", func() bool { return thing.count() > before+3 || killed.Load() >= 60 })
	}
	wg.Wait()
}

// A process that is paused for longer than its waiters' places last is passed over, and finds its way back by itself.
func TestFault_waiterOutOfTheQueue(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	admin := newClient(t, server)
	holder := newLocker(t, newClient(t, server), redisstore.Config{})
	p := newProxy(t, server.Addr())
	locks := newLocker(t, p.client(), redisstore.Config{Liveness: 500 * time.Millisecond})

	lease := mustAcquire(ctx, t, holder, "k", lockrt.Options{TTL: long})
	next := acquiring(ctx, locks, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
	queued(t, holder, "k", 1)
	p.set(func() { p.hole = true })
	testsync.Eventually(t, "the server forgets the waiter", func() bool { return admin.Exists(ctx, "lock:{k}:queue").Val() == 0 })
	mustRelease(ctx, t, lease)
	other := mustAcquire(ctx, t, holder, "k", lockrt.Options{TTL: long}) // nobody is before it now
	p.set(func() { p.hole = false })
	queued(t, holder, "k", 1)
	mustRelease(ctx, t, other)
	taken := (<-next).follows(t, other)
	mustRelease(ctx, t, taken)
}

// The first pushes of a session may be lost before its subscription is made. Many new processes must not each wait for
// the end of a lease because of that.
func TestFault_newProcessesWait(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true, PoolSize: 50})
	t.Cleanup(func() { _ = client.Close() })
	thing := &resource{t: t}
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			locks := newLocker(t, client, redisstore.Config{}, strict, func(c *lockrt.Config) { c.Node = fmt.Sprint("node", i) })
			goRound(ctx, t, locks, thing, 2, long)
		})
	}
	wg.Wait()
	if thing.count() != 80 {
		t.Errorf("%d visits, want 80", thing.count())
	}
}
