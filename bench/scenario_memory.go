package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// memory is a lock for every user, order and request that ever was: what stays in the server?
type memory struct {
	keys      int
	callers   int
	retention time.Duration // of the epochs: redisstore.Config.Retention
	patience  time.Duration // how long after it the server may take to forget
}

var (
	memoryFull  = memory{keys: 1_000_000, callers: 64, retention: 2 * time.Second, patience: 2 * time.Minute}
	memoryQuick = memory{keys: 5000, callers: 64, retention: time.Second, patience: 20 * time.Second}
)

// memoryLease is the lease's time here; an epoch stays for the retention time on top of it.
const memoryLease = 2 * time.Second

func (s memory) run(ctx context.Context, b *bench) error {
	return withServer(ctx, func(server *testenv.RedisServer) error {
		admin := redis.NewClient(&redis.Options{Addr: server.Addr()})
		defer admin.Close()
		fmt.Fprintf(b.progress, "memory: %d keys\n", s.keys)
		// Once with few keys, so that the scripts are part of the start.
		if _, err := s.use(ctx, server.Addr(), s.callers); err != nil {
			return err
		}
		before, err := s.forgotten(ctx, admin)
		if err != nil {
			return err
		}
		rate, err := s.use(ctx, server.Addr(), s.keys)
		if err != nil {
			return err
		}
		peak, err := infoNumber(ctx, admin, "memory", "used_memory_peak")
		if err != nil {
			return err
		}
		done := time.Now()
		after, err := s.forgotten(ctx, admin)
		if err != nil {
			return err
		}
		one := func(metric string, v float64) { b.report.add("memory", "lockgen", metric, []float64{v}) }
		one("keys", float64(s.keys))
		one("acq+rel/s", rate)
		one("server memory before, MB", megabytes(before))
		one("server memory at its peak, MB", megabytes(peak))
		one("server memory after, MB", megabytes(after))
		one("seconds until forgotten", time.Since(done).Seconds())
		b.report.atMost("memory", "server memory back to the start: ≤ 1.1×", []float64{float64(after) / float64(before)}, 1.1)
		return nil
	})
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }

// use acquires and releases n keys, each once, and closes everything again.
func (s memory) use(ctx context.Context, addr string, n int) (rate float64, err error) {
	l, err := openLockgen(address{addr: addr}, 0, redisstore.Config{Retention: s.retention})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	l.ttl = memoryLease
	took, err := burst(ctx, s.callers, func(ctx context.Context, caller int) error {
		for i := caller; i < n; i += s.callers {
			lease, err := l.acquire(ctx, fmt.Sprintf("user:%d", i))
			if err != nil {
				return err
			}
			if err := lease.Release(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return perSecond(n, took), err
}

// forgotten waits until the server holds no key any more and returns the memory that it uses then.
func (s memory) forgotten(ctx context.Context, admin *redis.Client) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.retention+memoryLease+s.patience)
	defer cancel()
	for {
		left, err := admin.DBSize(ctx).Result()
		if err != nil {
			return 0, fmt.Errorf("count the server's keys: %w", err)
		}
		if left == 0 {
			break
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return 0, fmt.Errorf("%d keys are still in the server %s after the retention time: %w", left, s.patience, err)
		}
	}
	// The table of keys shrinks in the background, a little later.
	least, err := infoNumber(ctx, admin, "memory", "used_memory")
	for settled := 0; err == nil && settled < 10; settled++ {
		if err = sleep(ctx, 100*time.Millisecond); err != nil {
			break
		}
		var now int64
		if now, err = infoNumber(ctx, admin, "memory", "used_memory"); now < least {
			least, settled = now, -1
		}
	}
	return least, err
}
