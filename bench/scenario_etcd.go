package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/lockgen/lockgen/internal/testetcd"
)

// withEtcd runs measure against a cluster of its own, which waits for the disk at every write.
func withEtcd(members int, measure func(c *testetcd.Cluster, addr string) error) (err error) {
	dir, err := os.MkdirTemp("", "lockgen-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := testetcd.New(dir, members, testetcd.Options{Fsync: true})
	if err != nil {
		return err
	}
	defer c.Stop()
	return measure(c, strings.Join(c.Addrs(), ","))
}

// etcdPairs is everyday use: nobody else wants the key.
type etcdPairs struct{ uncontended }

func (s etcdPairs) name() string { return "etcd-uncontended" }

func (s etcdPairs) run(ctx context.Context, b *bench) error {
	return withEtcd(1, func(_ *testetcd.Cluster, addr string) error {
		res, err := b.alternate(ctx, s.name(), s.rounds, []contender{etcdMutex, etcdLockgen},
			func(ctx context.Context, c contender, _ int) ([]value, error) {
				return s.measure(ctx, c, address{addr: addr})
			})
		if err != nil {
			return err
		}
		b.report.atLeast(s.name(), "1 goroutine: ≥ 0.9× concurrency.Mutex",
			res.compare(b, etcdLockgen.name, etcdMutex.name, pairsAlone), 0.9)
		b.report.atLeast(s.name(), fmt.Sprintf("%d goroutines: ≥ 0.9× concurrency.Mutex", s.goroutines),
			res.compare(b, etcdLockgen.name, etcdMutex.name, pairsTogether), 0.9)
		return nil
	})
}

// etcdContended is one key that several processes want all the time.
type etcdContended struct{ clusterContended }

func (s etcdContended) name() string { return "etcd-contended" }

func (s etcdContended) run(ctx context.Context, b *bench) error {
	return withEtcd(1, func(_ *testetcd.Cluster, addr string) error {
		res, err := b.alternate(ctx, s.name(), s.rounds, []contender{etcdMutex, etcdStrict, etcdLockgen},
			func(ctx context.Context, c contender, round int) ([]value, error) {
				return s.measure(ctx, c, addr, fmt.Sprintf("contended-%s-%d", c.name, round))
			})
		if err != nil {
			return err
		}
		b.report.atLeast(s.name(), "strict order: ≥ 1.2× concurrency.Mutex",
			res.compare(b, etcdStrict.name, etcdMutex.name, acquisitions), 1.2)
		b.report.atMost(s.name(), "0 starved", res.of(etcdStrict.name, starved), 0)
		return nil
	})
}

// etcdSeeds is the load of the articles on one key in one process.
type etcdSeeds struct{ seeds }

func (s etcdSeeds) name() string { return "etcd-seeds" }

func (s etcdSeeds) run(ctx context.Context, b *bench) error {
	return withEtcd(1, func(_ *testetcd.Cluster, addr string) error {
		res, err := b.alternate(ctx, s.name(), s.rounds, []contender{etcdMutex, etcdStrict, etcdLockgen},
			func(ctx context.Context, c contender, round int) ([]value, error) {
				return s.measure(ctx, c, address{addr: addr}, fmt.Sprintf("seeds-%s-%d", c.name, round))
			})
		if err != nil {
			return err
		}
		b.report.atLeast(s.name(), "≥ 20× concurrency.Mutex",
			res.compare(b, etcdLockgen.name, etcdMutex.name, acquisitions), 20)
		return nil
	})
}

// etcdBusy is a lock that somebody else holds, and that is tried again and again.
type etcdBusy struct {
	rounds int
	slice  time.Duration
}

const (
	triesPerSecond = "tries/s"
	entriesPerTry  = "raft entries per try"
)

func (s etcdBusy) name() string { return "etcd-busy" }

func (s etcdBusy) run(ctx context.Context, b *bench) error {
	return withEtcd(1, func(cluster *testetcd.Cluster, addr string) error {
		res, err := b.alternate(ctx, s.name(), s.rounds, []contender{etcdMutex, etcdLockgen},
			func(ctx context.Context, c contender, round int) ([]value, error) {
				return s.measure(ctx, cluster, c, address{addr: addr}, fmt.Sprintf("busy-%d", round))
			})
		if err != nil {
			return err
		}
		b.report.atMost(s.name(), "0 raft entries per try", res.of(etcdLockgen.name, entriesPerTry), 0.05)
		b.report.atLeast(s.name(), "≥ 1.2× concurrency.Mutex",
			res.compare(b, etcdLockgen.name, etcdMutex.name, triesPerSecond), 1.2)
		return nil
	})
}

func (s etcdBusy) measure(
	ctx context.Context, cluster *testetcd.Cluster, c contender, at address, key string,
) (values []value, err error) {
	holder, err := c.open(at)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, holder.close()) }()
	others, err := c.open(at)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, others.close()) }()
	if err := warmUp(ctx, others, key); err != nil {
		return nil, err
	}
	unlock, err := holder.lock(ctx, key)
	if err != nil {
		return nil, err
	}
	before, err := raftIndex(ctx, cluster)
	if err != nil {
		return nil, err
	}
	tries, begun := 0, time.Now()
	for ; time.Since(begun) < s.slice; tries++ {
		got, err := others.(trier).try(ctx, key)
		if err != nil || got {
			return nil, fmt.Errorf("try of a lock that is held: %v, %w", got, err)
		}
	}
	took := time.Since(begun)
	after, err := raftIndex(ctx, cluster)
	return []value{
		{triesPerSecond, perSecond(tries, took)}, {entriesPerTry, float64(after-before) / float64(max(tries, 1))},
	}, errors.Join(err, unlock(ctx))
}

func raftIndex(ctx context.Context, cluster *testetcd.Cluster) (uint64, error) {
	client, err := cluster.Client()
	if err != nil {
		return 0, err
	}
	defer client.Close()
	status, err := client.Status(ctx, cluster.Members[0].Addr())
	if err != nil {
		return 0, err
	}
	return status.RaftIndex, nil
}

// etcdFailover is a leader kill while a lock is waited for.
type etcdFailover struct{ failover }

func (s etcdFailover) name() string { return "etcd-failover" }

func (s etcdFailover) run(ctx context.Context, b *bench) error {
	return withEtcd(3, func(cluster *testetcd.Cluster, addr string) error {
		return s.compare(ctx, b, s.name(), addr, etcdLockgen, etcdMutex, func(ctx context.Context) (server, error) {
			return cluster.Leader(ctx)
		})
	})
}

// etcdPlans are the scenarios with etcd, at their full or their small size.
func etcdPlans(quick bool, rounds int) []plan {
	size := uncontended{rounds: 21, goroutines: 64, slice: 500 * time.Millisecond}
	burst := clusterContended{crew: crew{processes: 8, waiters: 1, hold: time.Millisecond}, rounds: 3, window: 10 * time.Second}
	load := seeds{goroutines: 1000, each: 2, rounds: 3, atLeast: 300 * time.Millisecond, limit: 25 * time.Second}
	busy, dead := etcdBusy{rounds: 5, slice: time.Second}, etcdFailover{failover{rounds: 3}}
	if quick {
		size = uncontended{rounds: 1, goroutines: 16, slice: 100 * time.Millisecond}
		burst.crew.processes, burst.rounds, burst.window = 2, 1, time.Second
		load = seeds{goroutines: 50, each: 2, rounds: 1, atLeast: 50 * time.Millisecond, limit: 5 * time.Second}
		busy, dead = etcdBusy{rounds: 1, slice: 100 * time.Millisecond}, etcdFailover{failover{rounds: 1}}
	}
	for _, n := range []*int{&size.rounds, &burst.rounds, &load.rounds, &busy.rounds, &dead.rounds} {
		override(n, rounds)
	}
	all := []interface {
		scenario
		name() string
	}{etcdPairs{size}, etcdContended{burst}, etcdSeeds{load}, busy, dead}
	var plans []plan
	for _, s := range all {
		plans = append(plans, plan{s.name(), s})
	}
	return plans
}
