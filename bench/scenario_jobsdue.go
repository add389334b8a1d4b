package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
)

// jobsDue is very many jobs that are all due in the same second, again and again.
type jobsDue struct {
	nodes, jobs int
	every       time.Duration
	ticks       int // how often they are due while it is measured
}

var (
	jobsDueFull  = jobsDue{nodes: 3, jobs: 10_000, every: 10 * time.Second, ticks: 4}
	jobsDueQuick = jobsDue{nodes: 2, jobs: 200, every: 2 * time.Second, ticks: 1}
)

func (s jobsDue) run(ctx context.Context, b *bench) error {
	return withServer(ctx, func(server *testenv.RedisServer) error {
		admin := redis.NewClient(&redis.Options{Addr: server.Addr()})
		defer admin.Close()
		done, err := s.measure(ctx, b, "jobs-due", "lockgen", server.Addr(), func() (int64, error) {
			return infoNumber(ctx, admin, "stats", "total_commands_processed")
		})
		if err != nil {
			return err
		}
		due := float64(s.jobs * s.ticks)
		s.tell(&b.report, done, 250)
		s.tellOne(&b.report, done, "client commands per run", float64(done.commands)/due)
		s.tellOne(&b.report, done, "server commands per run, those inside scripts too", float64(done.processed)/due)
		return nil
	})
}

// dueDone is what was found of jobs that were all due at once.
type dueDone struct {
	scenario, contender string
	found               []jobsFound
	first, last         time.Time // ticks
	processed           int64     // by the server
	commands            int64
}

// measure runs the nodes at their ticks. processed counts what the server has done.
func (s jobsDue) measure(ctx context.Context, b *bench, scenario, contender, addr string, processed func() (int64, error)) (
	done dueDone, err error,
) {
	done.scenario, done.contender = scenario, contender
	var orders []jobsOrders
	for i := range s.nodes {
		orders = append(orders, jobsOrders{Contender: contender, Addr: addr, Node: i, Jobs: s.jobs, Every: s.every})
	}
	fmt.Fprintf(b.progress, "%s: %d jobs on %d nodes, %d ticks\n", scenario, s.jobs, s.nodes, s.ticks)
	done.found, err = fleet(ctx, orders, func(ctx context.Context) error {
		// The first tick is not measured: the nodes have only just met, and the server gets to know the statements.
		if err := sleepToTick(ctx, s.every, s.every+s.every/2); err != nil {
			return err
		}
		before, err := processed()
		if err != nil {
			return err
		}
		done.first = time.Now().Truncate(s.every).Add(s.every)
		done.last = done.first.Add(time.Duration(s.ticks-1) * s.every)
		if err := sleep(ctx, time.Until(done.last.Add(s.every/2))); err != nil {
			return err
		}
		after, err := processed()
		done.processed = after - before
		return err
	})
	for _, f := range done.found {
		done.commands += f.Commands
	}
	return done, err
}

// sleepToTick sleeps until past the next multiple of every.
func sleepToTick(ctx context.Context, every, past time.Duration) error {
	return sleep(ctx, time.Until(time.Now().Truncate(every).Add(past)))
}

// tell judges the lateness by a limit in milliseconds.
func (s jobsDue) tell(r *report, done dueDone, limit float64) {
	counts, first, last := tally(done.found, done.first, done.last), done.first, done.last
	due := s.jobs * s.ticks
	var p50, p99, most []float64
	for tick := first; !tick.After(last); tick = tick.Add(s.every) {
		late := counts.late[tick.UnixMicro()]
		p50 = append(p50, millisOf(quantile(late, 0.5)))
		p99 = append(p99, millisOf(quantile(late, 0.99)))
		most = append(most, millisOf(quantile(late, 1)))
	}
	var cpu time.Duration
	for _, f := range done.found {
		cpu += f.CPU
	}
	s.tellOne(r, done, "jobs due at once", float64(s.jobs))
	s.tellOne(r, done, "nodes", float64(s.nodes))
	r.add(done.scenario, done.contender, "lateness p50 ms", p50)
	r.add(done.scenario, done.contender, "lateness p99 ms", p99)
	r.add(done.scenario, done.contender, "lateness max ms", most)
	s.tellOne(r, done, "CPU of the nodes per run µs", float64(cpu.Microseconds())/float64(due))
	s.tellOne(r, done, "duplicates", float64(counts.duplicates))
	s.tellOne(r, done, "missed", float64(due-counts.distinct))
	r.atMost(done.scenario, fmt.Sprintf("lateness p99 ≤ %g ms", limit), p99, limit)
	r.atMost(done.scenario, "0 duplicates", []float64{float64(counts.duplicates)}, 0)
	r.atMost(done.scenario, "0 missed", []float64{float64(due - counts.distinct)}, 0)
}

func (s jobsDue) tellOne(r *report, done dueDone, metric string, v float64) {
	r.add(done.scenario, done.contender, metric, []float64{v})
}

// jobTally is what all nodes did together.
type jobTally struct {
	late                 map[int64][]time.Duration // by tick
	distinct, duplicates int
}

// tally counts the runs of the ticks from first to last.
func tally(found []jobsFound, first, last time.Time) jobTally {
	t := jobTally{late: make(map[int64][]time.Duration)}
	type due struct {
		job  int
		tick int64
	}
	seen := make(map[due]bool)
	for _, f := range found {
		for _, r := range f.Runs {
			if r.Tick < first.UnixMicro() || r.Tick > last.UnixMicro() {
				continue
			}
			if seen[due{r.Job, r.Tick}] {
				t.duplicates++
				continue
			}
			seen[due{r.Job, r.Tick}] = true
			t.distinct++
			t.late[r.Tick] = append(t.late[r.Tick], time.Duration(r.Begin-r.Tick)*time.Microsecond)
		}
	}
	return t
}
