package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
)

// jobsIdle is very many jobs of which none is due: what does it cost to have them?
type jobsIdle struct {
	nodes, jobs int
	watch       time.Duration
}

var (
	jobsIdleFull  = jobsIdle{nodes: 3, jobs: 100_000, watch: 30 * time.Second}
	jobsIdleQuick = jobsIdle{nodes: 2, jobs: 2000, watch: 3 * time.Second}
)

func (s jobsIdle) run(ctx context.Context, b *bench) error {
	return withServer(ctx, func(server *testenv.RedisServer) error {
		admin := redis.NewClient(&redis.Options{Addr: server.Addr()})
		defer admin.Close()
		var orders []jobsOrders
		for i := range s.nodes {
			orders = append(orders, jobsOrders{Contender: "lockgen", Addr: server.Addr(), Node: i, Jobs: s.jobs})
		}
		fmt.Fprintf(b.progress, "jobs-idle: %d jobs on %d nodes, %s\n", s.jobs, s.nodes, s.watch)
		before, err := infoNumber(ctx, admin, "memory", "used_memory")
		if err != nil {
			return err
		}
		var cost serverCost
		found, err := fleet(ctx, orders, func(ctx context.Context) (err error) {
			cost, err = s.watchServer(ctx, admin)
			return err
		})
		if err != nil {
			return err
		}
		s.tell(&b.report, found, cost, before)
		return nil
	})
}

// serverCost is what the server had to do, and to remember, while it was watched.
type serverCost struct {
	commands, memory int64
	elapsed          time.Duration
}

func (s jobsIdle) watchServer(ctx context.Context, admin *redis.Client) (c serverCost, err error) {
	before, err := infoNumber(ctx, admin, "stats", "total_commands_processed")
	if err != nil {
		return c, err
	}
	begun := time.Now()
	if err := sleep(ctx, s.watch); err != nil {
		return c, err
	}
	c.elapsed = time.Since(begun)
	after, err := infoNumber(ctx, admin, "stats", "total_commands_processed")
	if err != nil {
		return c, err
	}
	c.commands = after - before
	c.memory, err = infoNumber(ctx, admin, "memory", "used_memory")
	return c, err
}

func (s jobsIdle) tell(r *report, found []jobsFound, server serverCost, memoryBefore int64) {
	var cpu, heap, settled, commands []float64
	for _, f := range found {
		cpu = append(cpu, 100*f.CPU.Seconds()/f.Elapsed.Seconds())
		heap = append(heap, float64(f.Heap)/float64(s.jobs))
		settled = append(settled, f.Settled.Seconds())
		commands = append(commands, float64(f.Commands)/f.Elapsed.Seconds())
	}
	one := func(metric string, v float64) { r.add("jobs-idle", "lockgen", metric, []float64{v}) }
	one("jobs", float64(s.jobs))
	one("nodes", float64(s.nodes))
	r.add("jobs-idle", "lockgen", "CPU of a node, % of a core", cpu)
	r.add("jobs-idle", "lockgen", "heap of a node, bytes per job", heap)
	r.add("jobs-idle", "lockgen", "a node knows all jobs after, s", settled)
	r.add("jobs-idle", "lockgen", "client commands/s of a node", commands)
	one("server commands/s, those inside scripts too", float64(server.commands)/server.elapsed.Seconds())
	one("server memory, bytes per job", float64(server.memory-memoryBefore)/float64(s.jobs))
	r.atMost("jobs-idle", "CPU of a node ≤ 2 % of a core", cpu, 2)
	r.atMost("jobs-idle", "heap of a node ≤ 2 KB per job", heap, 2048)
}
