package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
)

// withZooKeeper runs measure against servers of its own, which wait for the disk at every write.
func withZooKeeper(
	ctx context.Context, servers int, measure func(e *testenv.ZooKeeperEnsemble, addr string) error,
) (err error) {
	e, err := testenv.StartZooKeeper(ctx, testenv.ZooKeeperConfig{
		Servers: servers, Tick: 2 * time.Second, MaxSession: 2 * leaseTime, Fsync: true,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Stop()) }()
	return measure(e, strings.Join(e.Addrs(), ","))
}

// zkPairs is everyday use: nobody else wants the key.
type zkPairs struct{ uncontended }

func (s zkPairs) name() string { return "zk-uncontended" }

func (s zkPairs) run(ctx context.Context, b *bench) error {
	return withZooKeeper(ctx, 1, func(_ *testenv.ZooKeeperEnsemble, addr string) error {
		res, err := b.alternate(ctx, s.name(), s.rounds, []contender{zkLock, zkLockgen},
			func(ctx context.Context, c contender, _ int) ([]value, error) {
				return s.measure(ctx, c, address{addr: addr})
			})
		if err != nil {
			return err
		}
		b.report.atLeast(s.name(), "1 goroutine: ≥ 0.9× zk.Lock", res.compare(b, zkLockgen.name, zkLock.name, pairsAlone), 0.9)
		b.report.atLeast(s.name(), fmt.Sprintf("%d goroutines: ≥ 0.9× zk.Lock", s.goroutines),
			res.compare(b, zkLockgen.name, zkLock.name, pairsTogether), 0.9)
		return nil
	})
}

// zkSeeds is the load of the articles on one key in one process.
type zkSeeds struct{ seeds }

func (s zkSeeds) name() string { return "zk-seeds" }

func (s zkSeeds) run(ctx context.Context, b *bench) error {
	return withZooKeeper(ctx, 1, func(_ *testenv.ZooKeeperEnsemble, addr string) error {
		res, err := b.alternate(ctx, s.name(), s.rounds, []contender{zkLock, zkStrict, zkLockgen},
			func(ctx context.Context, c contender, round int) ([]value, error) {
				return s.measure(ctx, c, address{addr: addr}, fmt.Sprintf("seeds-%s-%d", c.name, round))
			})
		if err != nil {
			return err
		}
		b.report.atLeast(s.name(), "≥ 20× zk.Lock", res.compare(b, zkLockgen.name, zkLock.name, acquisitions), 20)
		return nil
	})
}

// zkFailover is a leader kill while a lock is waited for.
type zkFailover struct{ failover }

func (s zkFailover) name() string { return "zk-failover" }

func (s zkFailover) run(ctx context.Context, b *bench) error {
	return withZooKeeper(ctx, 3, func(e *testenv.ZooKeeperEnsemble, addr string) error {
		return s.compare(ctx, b, s.name(), addr, zkLockgen, zkLock, func(ctx context.Context) (server, error) {
			return e.Leader(ctx)
		})
	})
}

// zkPlans are the scenarios with ZooKeeper, at their full or their small size.
func zkPlans(quick bool, rounds int) []plan {
	size := uncontended{rounds: 9, goroutines: 64, slice: time.Second}
	load := seeds{goroutines: 1000, each: 2, rounds: 3, atLeast: 300 * time.Millisecond, limit: 25 * time.Second}
	kill := failover{rounds: 3}
	if quick {
		size = uncontended{rounds: 1, goroutines: 16, slice: 100 * time.Millisecond}
		load = seeds{goroutines: 50, each: 2, rounds: 1, atLeast: 50 * time.Millisecond, limit: 5 * time.Second}
		kill.rounds = 1
	}
	override(&size.rounds, rounds)
	override(&load.rounds, rounds)
	override(&kill.rounds, rounds)
	pairs, articles, dead := zkPairs{size}, zkSeeds{load}, zkFailover{kill}
	return []plan{{pairs.name(), pairs}, {articles.name(), articles}, {dead.name(), dead}}
}
