package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
)

// renew is one process that holds very many leases, and another client of the same server.
type renew struct {
	leases int
	ttl    time.Duration
	idle   time.Duration // how long the other client is measured without the leases, before and once more after
	watch  time.Duration // how long with them: longer than the TTL, or nothing would be lost anyway
}

var (
	renewFull  = renew{leases: 100_000, ttl: 30 * time.Second, idle: 10 * time.Second, watch: 45 * time.Second}
	renewQuick = renew{leases: 2000, ttl: time.Second, idle: 500 * time.Millisecond, watch: 2 * time.Second}
)

func (s renew) run(ctx context.Context, b *bench) error {
	if s.watch <= s.ttl {
		s.watch = s.ttl * 3 / 2
	}
	return withServer(ctx, func(server *testenv.RedisServer) error {
		other := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
		defer other.Close()
		fmt.Fprintf(b.progress, "renew: %d leases, ttl %s\n", s.leases, s.ttl)
		idle, err := getLatencies(ctx, other, s.idle)
		if err != nil {
			return err
		}
		found, busy, err := s.hold(ctx, server.Addr(), other)
		if err != nil {
			return fmt.Errorf("renew: %w", err)
		}
		if err := other.FlushAll(ctx).Err(); err != nil { // or the server is busy with expiring them
			return err
		}
		more, err := getLatencies(ctx, other, s.idle)
		if err != nil {
			return err
		}
		s.tell(&b.report, found, append(idle, more...), busy)
		return nil
	})
}

// hold has another process acquire the leases, and measures the other client while they are renewed.
func (s renew) hold(ctx context.Context, addr string, other *redis.Client) (found holderFound, busy []time.Duration, err error) {
	w, err := startWorker(ctx, holderWorker, holderOrders{Addr: addr, Leases: s.leases, TTL: s.ttl})
	if err != nil {
		return found, nil, err
	}
	defer w.close()
	if err := w.awaitReady(); err != nil {
		return found, nil, err
	}
	if err := w.say("go"); err != nil {
		return found, nil, err
	}
	if busy, err = getLatencies(ctx, other, s.watch); err != nil {
		return found, nil, err
	}
	if err := w.say("stop"); err != nil {
		return found, nil, err
	}
	return found, busy, w.result(&found)
}

func (s renew) tell(r *report, found holderFound, idle, busy []time.Duration) {
	core := 100 * found.CPU.Seconds() / found.Elapsed.Seconds()
	idle99, busy99 := millisOf(quantile(idle, 0.99)), millisOf(quantile(busy, 0.99))
	one := func(contender, metric string, v float64) { r.add("renew", contender, metric, []float64{v}) }
	one("lockgen", "leases", float64(s.leases))
	one("lockgen", "leases/s acquired at the start", perSecond(s.leases, found.Acquired))
	one("lockgen", "leases lost", float64(found.Lost))
	one("lockgen", "% of one core", core)
	one("other client", "GET p50 ms, idle", millisOf(quantile(idle, 0.5)))
	one("other client", "GET p50 ms, renewing", millisOf(quantile(busy, 0.5)))
	one("other client", "GET p99 ms, idle", idle99)
	one("other client", "GET p99 ms, renewing", busy99)
	r.atMost("renew", "none lost", []float64{float64(found.Lost)}, 0)
	r.atMost("renew", "other clients' p99 GET ≤ 1 ms above idle", []float64{busy99 - idle99}, 1)
	r.atMost("renew", "≤ 25 % of one core", []float64{core}, 25)
}

// getEvery is the pause of the other client between two calls: often enough to meet what is short, not a load of its own.
const getEvery = time.Millisecond

// getLatencies is the other client. It is in another process than the leases, so that it sees the server's delays and
// not those of a busy process.
func getLatencies(ctx context.Context, client *redis.Client, d time.Duration) ([]time.Duration, error) {
	const key = "somebody-elses-key"
	if err := client.Set(ctx, key, "value", 0).Err(); err != nil {
		return nil, fmt.Errorf("set the key of the other client: %w", err)
	}
	var latencies []time.Duration
	for end := time.Now().Add(d); time.Now().Before(end); {
		sent := time.Now()
		if err := client.Get(ctx, key).Err(); err != nil {
			return nil, fmt.Errorf("get the key of the other client: %w", err)
		}
		latencies = append(latencies, time.Since(sent))
		if err := sleep(ctx, getEvery); err != nil {
			return nil, err
		}
	}
	return latencies, nil
}
