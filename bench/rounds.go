package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/lockgen/lockgen/internal/testenv"
)

// bench is what a scenario works with.
type bench struct {
	report   report
	progress io.Writer // what is being measured, for people
	only     []string  // names of the contenders to measure; empty: all
}

// scenario is one line of the design's "To reach".
type scenario interface {
	run(ctx context.Context, b *bench) error
}

// withServer runs measure against a redis-server of its own.
func withServer(ctx context.Context, measure func(server *testenv.RedisServer) error) (err error) {
	server, err := testenv.StartRedis(ctx, testenv.RedisConfig{})
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := server.Stop(); err == nil {
			err = stopErr
		}
	}()
	return measure(server)
}

// value is one measured number of one round.
type value struct {
	metric string
	number float64
}

// results are the series of one scenario: a number per round for each contender and metric.
type results struct {
	scenario string
	order    []contender
	metrics  []string // in the order in which they were first measured
	series   map[[2]string][]float64
}

// alternate measures the contenders one after the other, round by round, so that whatever else the machine does hits all
// of them alike, and adds the results to the report.
func (b *bench) alternate(ctx context.Context, scenario string, rounds int, order []contender,
	measure func(ctx context.Context, c contender, round int) ([]value, error)) (*results, error) {
	res := &results{scenario: scenario, series: make(map[[2]string][]float64)}
	for _, c := range order {
		if len(b.only) == 0 || slices.Contains(b.only, c.name) {
			res.order = append(res.order, c)
		}
	}
	for round := range rounds {
		for _, c := range res.order {
			fmt.Fprintf(b.progress, "%s: round %d of %d, %s\n", scenario, round+1, rounds, c.name)
			values, err := measure(ctx, c, round)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, fmt.Errorf("%s, round %d, %s: %w", scenario, round+1, c.name, err)
			}
			res.add(c.name, values)
		}
	}
	for _, c := range res.order {
		for _, metric := range res.metrics {
			if series := res.of(c.name, metric); len(series) > 0 {
				b.report.add(scenario, c.name, metric, series)
			}
		}
	}
	return res, nil
}

func (r *results) add(contender string, values []value) {
	for _, v := range values {
		if !slices.Contains(r.metrics, v.metric) {
			r.metrics = append(r.metrics, v.metric)
		}
		key := [2]string{contender, v.metric}
		r.series[key] = append(r.series[key], v.number)
	}
}

func (r *results) of(contender, metric string) []float64 {
	return r.series[[2]string{contender, metric}]
}

// bestPeer returns the peer with the highest median of metric; false if no peer was measured.
func (r *results) bestPeer(metric string) (best string, found bool) {
	highest := 0.0
	for _, c := range r.order {
		if median := spreadOf(r.of(c.name, metric)).median; c.peer && median > highest {
			best, highest, found = c.name, median, true
		}
	}
	return best, found
}

// against compares our series of metric with another contender's, round by round, and reports the ratio with its spread.
func (r *results) against(b *bench, other, metric string) []float64 {
	return r.compare(b, lockgenDefault.name, other, metric)
}

// compare is against for one of ours.
func (r *results) compare(b *bench, ours, other, metric string) []float64 {
	ratio := ratios(r.of(ours, metric), r.of(other, metric))
	if len(ratio) > 0 {
		b.report.add(r.scenario, ours, metric+", times "+other, ratio)
	}
	return ratio
}

// againstBestPeer is against for the peer that does best.
func (r *results) againstBestPeer(b *bench, metric string) []float64 {
	best, found := r.bestPeer(metric)
	if !found {
		return nil
	}
	return r.against(b, best, metric)
}
