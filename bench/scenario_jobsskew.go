package main

import (
	"context"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
)

// jobsSkew is three machines whose clocks are a quarter of a second apart, with a job that is over before the next machine
// thinks it due, and one that is not.
type jobsSkew struct {
	nodes int
	apart time.Duration   // from one node's clock to the next
	every time.Duration   // both jobs are due at its multiples
	takes []time.Duration // of one job each
	ticks int             // how often they are due while it is measured
}

var (
	jobsSkewFull = jobsSkew{
		nodes: 3, apart: 250 * time.Millisecond, every: 2 * time.Second, ticks: 15,
		takes: []time.Duration{10 * time.Millisecond, time.Second},
	}
	jobsSkewQuick = jobsSkew{
		nodes: 3, apart: 250 * time.Millisecond, every: 2 * time.Second, ticks: 3,
		takes: []time.Duration{10 * time.Millisecond, time.Second},
	}
)

func (s jobsSkew) run(ctx context.Context, b *bench) error {
	for _, l := range jobLibraries {
		fmt.Fprintf(b.progress, "jobs-skew: %s, %d nodes, %s apart, %d ticks\n", l.name, s.nodes, s.apart, s.ticks)
		if err := withServer(ctx, func(server *testenv.RedisServer) error { return s.measure(ctx, b, l.name, server.Addr()) }); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

func (s jobsSkew) measure(ctx context.Context, b *bench, contender, addr string) error {
	var orders []jobsOrders
	for i := range s.nodes {
		orders = append(orders, jobsOrders{
			Contender: contender, Addr: addr, Node: i, Jobs: len(s.takes), Every: s.every, Takes: s.takes,
			Skew: time.Duration(i-s.nodes/2) * s.apart,
		})
	}
	var first, last time.Time
	found, err := fleet(ctx, orders, func(ctx context.Context) error {
		// The first tick is not measured: the nodes have only just met.
		if err := sleepToTick(ctx, s.every, s.every+s.every/2); err != nil {
			return err
		}
		first = time.Now().Truncate(s.every).Add(s.every)
		last = first.Add(time.Duration(s.ticks-1) * s.every)
		return sleep(ctx, time.Until(last.Add(s.every*3/4)))
	})
	if err != nil {
		return err
	}
	for job, takes := range s.takes {
		s.tell(&b.report, contender, takes, ofJob(found, job), first, last)
	}
	return nil
}

// ofJob leaves the runs of one job.
func ofJob(found []jobsFound, job int) []jobsFound {
	var runs []jobRun
	for _, f := range found {
		for _, r := range f.Runs {
			if r.Job == job {
				runs = append(runs, r)
			}
		}
	}
	return []jobsFound{{Runs: runs}}
}

func (s jobsSkew) tell(r *report, contender string, takes time.Duration, found []jobsFound, first, last time.Time) {
	counts := tally(found, first, last)
	one := func(metric string, v float64) {
		r.add("jobs-skew", contender, fmt.Sprintf("%s job: %s", takes, metric), []float64{v})
	}
	duplicates, missed := float64(counts.duplicates), float64(s.ticks-counts.distinct)
	one("ticks", float64(s.ticks))
	one("runs", float64(counts.distinct+counts.duplicates))
	one("duplicates", duplicates)
	one("missed", missed)
	if contender == "lockgen" {
		r.atMost("jobs-skew", fmt.Sprintf("%s job: 0 duplicates", takes), []float64{duplicates}, 0)
		r.atMost("jobs-skew", fmt.Sprintf("%s job: 0 missed", takes), []float64{missed}, 0)
	}
}
