package redisstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// Keys that are used once must not stay: not as locks, not as counters of fences.
func TestLeak_manyKeysLeaveNothing(t *testing.T) {
	keys := 100_000
	switch {
	case os.Getenv("LOCKGEN_SOAK") != "":
		keys = 1_000_000
	case redisstore.RaceEnabled:
		keys = 20_000
	default:
	}
	server := testenv.Redis(t)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	client := newClient(t, server)
	locks := newLocker(t, client, redisstore.Config{Retention: time.Second})
	var wg sync.WaitGroup
	const workers = 32
	for w := range workers {
		wg.Go(func() {
			for i := w; i < keys; i += workers {
				//locklint:ignore LL1001 every fifth lease is left to its TTL on purpose
				lease, err := locks.Acquire(ctx, fmt.Sprint("key", i), lockrt.Options{TTL: time.Second, NoRenew: true})
				if err != nil {
					t.Errorf("acquire key %d: %v", i, err)
					return
				}
				if i%5 == 0 {
					continue // never released: its process died
				}
				if err := lease.Release(ctx); err != nil && lease.Err() == nil {
					t.Errorf("release key %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	most := client.DBSize(ctx).Val()
	testsync.Eventually(t, "Redis is empty", func() bool { return client.DBSize(ctx).Val() == 0 })
	t.Logf("%d keys were used, %d were left at the end of that, none after the retention", keys, most)
	if most == 0 {
		t.Error("no key was seen: the test did not test anything")
	}
}

// Whoever closes a Locker gets everything back: goroutines, the subscription, connections.
func TestLeak_closeReturnsToTheStart(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	admin := newClient(t, server)
	clients := func() string { return admin.ClientList(ctx).Val() }
	admin.Ping(ctx)
	before := goleak.IgnoreCurrent()
	start := lines(clients())
	for i := range 5 {
		client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
		var lockers []*lockrt.Locker
		for range 4 {
			locks, err := lockrt.New(redisstore.New(client, redisstore.Config{}), lockrt.Config{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			lockers = append(lockers, locks)
		}
		holder := mustAcquire(ctx, t, lockers[0], "k", lockrt.Options{TTL: long})
		var waiting []<-chan result
		for i, locks := range lockers[1:] {
			waiting = append(waiting, acquiring(ctx, locks, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever}))
			queued(t, lockers[0], "k", i+1)
		}
		if i%2 == 0 {
			mustRelease(ctx, t, holder)
			mustRelease(ctx, t, (<-waiting[0]).must(t))
			mustRelease(ctx, t, (<-waiting[1]).must(t))
		}
		for _, locks := range lockers { // in the middle of waiting and holding
			if err := locks.Close(ctx); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
	goleak.VerifyNone(t, before)
	testsync.Eventually(t, "no subscription is left", func() bool { return len(admin.PubSubChannels(ctx, "*").Val()) == 0 })
	testsync.Eventually(t, "no connection is left", func() bool { return lines(clients()) <= start })
	if n := admin.Exists(ctx, "lock:{k}", "lock:{k}:queue").Val(); n != 0 {
		t.Errorf("%d keys of the lock are left", n)
	}
}

func lines(text string) int {
	n := 0
	for _, c := range text {
		if c == '\n' {
			n++
		}
	}
	return n
}
