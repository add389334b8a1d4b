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
		var orders []jobsOrders
		for i := range s.nodes {
			orders = append(orders, jobsOrders{Contender: "lockgen", Addr: server.Addr(), Node: i, Jobs: s.jobs, Every: s.every})
		}
		fmt.Fprintf(b.progress, "jobs-due: %d jobs on %d nodes, %d ticks\n", s.jobs, s.nodes, s.ticks)
		var processed int64
		var first, last time.Time
		found, err := fleet(ctx, orders, func(ctx context.Context) error {
			// The first tick is not measured: the nodes have only just met, and the server gets to know the scripts.
			if err := sleepToTick(ctx, s.every, s.every+s.every/2); err != nil {
				return err
			}
			before, err := infoNumber(ctx, admin, "stats", "total_commands_processed")
			if err != nil {
				return err
			}
			first = time.Now().Truncate(s.every).Add(s.every)
			last = first.Add(time.Duration(s.ticks-1) * s.every)
			if err := sleep(ctx, time.Until(last.Add(s.every/2))); err != nil {
				return err
			}
			after, err := infoNumber(ctx, admin, "stats", "total_commands_processed")
			processed = after - before
			return err
		})
		if err != nil {
			return err
		}
		s.tell(&b.report, found, first, last, processed)
		return nil
	})
}

// sleepToTick sleeps until past the next multiple of every.
func sleepToTick(ctx context.Context, every, past time.Duration) error {
	return sleep(ctx, time.Until(time.Now().Truncate(every).Add(past)))
}

func (s jobsDue) tell(r *report, found []jobsFound, first, last time.Time, processed int64) {
	counts := tally(found, first, last)
	due := s.jobs * s.ticks
	var p50, p99, most []float64
	for tick := first; !tick.After(last); tick = tick.Add(s.every) {
		late := counts.late[tick.UnixMicro()]
		p50 = append(p50, millisOf(quantile(late, 0.5)))
		p99 = append(p99, millisOf(quantile(late, 0.99)))
		most = append(most, millisOf(quantile(late, 1)))
	}
	var commands int64
	busiest := time.Duration(0)
	for _, f := range found {
		commands += f.Commands
		busiest = max(busiest, f.CPU)
	}
	one := func(metric string, v float64) { r.add("jobs-due", "lockgen", metric, []float64{v}) }
	one("jobs due at once", float64(s.jobs))
	one("nodes", float64(s.nodes))
	r.add("jobs-due", "lockgen", "lateness p50 ms", p50)
	r.add("jobs-due", "lockgen", "lateness p99 ms", p99)
	r.add("jobs-due", "lockgen", "lateness max ms", most)
	one("client commands per run", float64(commands)/float64(due))
	one("server commands per run, those inside scripts too", float64(processed)/float64(due))
	one("duplicates", float64(counts.duplicates))
	one("missed", float64(due-counts.distinct))
	r.atMost("jobs-due", "lateness p99 ≤ 250 ms", p99, 250)
	r.atMost("jobs-due", "0 duplicates", []float64{float64(counts.duplicates)}, 0)
	r.atMost("jobs-due", "0 missed", []float64{float64(due - counts.distinct)}, 0)
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
