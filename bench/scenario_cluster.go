package main

import (
	"context"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
)

// clusterContended is a service of several instances that all want one key all the time.
type clusterContended struct {
	crew   crew
	rounds int
	window time.Duration // how long they fight
}

var (
	clusterFull  = clusterContended{crew: crew{processes: 10, waiters: 100, hold: time.Millisecond}, rounds: 3, window: 10 * time.Second}
	clusterQuick = clusterContended{crew: crew{processes: 3, waiters: 20, hold: time.Millisecond}, rounds: 1, window: time.Second}
)

const (
	commandsEach = "client commands per acquisition"
	starved      = "starved waiters"
	waitToIdeal  = "wait p99, times the ideal queue"
	waitP99      = "wait p99 ms"
	wakeP50      = "wake-up p50 ms"
)

func (s clusterContended) run(ctx context.Context, b *bench) error {
	return withServer(ctx, func(server *testenv.RedisServer) error {
		order := must(named("raw-200ms", "redsync", "redislock", "rueidislock", "lockgen-fifo", "lockgen"))
		const name = "cluster-contended"
		res, err := b.alternate(ctx, name, s.rounds, order, func(ctx context.Context, c contender, round int) ([]value, error) {
			return s.measure(ctx, c, server.Addr(), fmt.Sprintf("cluster-%s-%d", c.name, round))
		})
		if err != nil {
			return err
		}
		ours := func(metric string) []float64 { return res.of(lockgenDefault.name, metric) }
		b.report.atMost(name, "≤ 2.5 client commands per acquisition", ours(commandsEach), 2.5)
		b.report.atMost(name, "0 starved", ours(starved), 0)
		b.report.atMost(name, "p99 wait ≤ 1.5× the ideal queue", ours(waitToIdeal), 1.5)
		b.report.atLeast(name, "throughput ≥ 1.2× the best peer", res.againstBestPeer(b, acquisitions), 1.2)
		return nil
	})
}

// measure: in the ideal queue everybody waits for all others to hold the lock once. What they hold it for is measured,
// because a sleep of 1 ms takes longer.
func (s clusterContended) measure(ctx context.Context, c contender, addr, key string) ([]value, error) {
	found, err := s.crew.work(ctx, c, addr, key, func(ctx context.Context) error { return sleep(ctx, s.window) })
	if err != nil {
		return nil, err
	}
	if found.Acquired == 0 {
		return nil, fmt.Errorf("nobody acquired the lock in %s", s.window)
	}
	hold := found.Held / time.Duration(found.Acquired)
	ideal := time.Duration(s.crew.processes*s.crew.waiters-1) * hold
	p99 := quantile(found.Waits, 0.99)
	return []value{
		{acquisitions, perSecond(found.Acquired, found.Elapsed)},
		{commandsEach, float64(found.Commands) / float64(found.Acquired)},
		{starved, float64(found.Starved)},
		{"held ms", millisOf(hold)},
		{"wait p50 ms", millisOf(quantile(found.Waits, 0.50))},
		{waitP99, millisOf(p99)},
		{waitToIdeal, float64(p99) / float64(ideal)},
		{wakeP50, millisOf(quantile(found.Wakes, 0.50))},
	}, nil
}
