package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
	"github.com/lockgen/lockgen/examples/pitfalls/recipes"
)

// row is one pitfall and how it ended.
type row struct {
	recipes.Pitfall
	byHand, safely result
}

// result is an outcome, or why there is none.
type result struct {
	recipes.Outcome
	err error
}

// runAll runs all scenarios at the same time: they mostly wait.
func runAll(ctx context.Context, srv *server, pitfalls []recipes.Pitfall) []row {
	rows := make([]row, len(pitfalls))
	var running sync.WaitGroup
	for i, p := range pitfalls {
		rows[i].Pitfall = p
		running.Go(func() { rows[i].byHand = runOne(ctx, srv, p.ByHand) })
		running.Go(func() { rows[i].safely = runOne(ctx, srv, p.Safely) })
	}
	running.Wait()
	return rows
}

func runOne(ctx context.Context, srv *server,
	scenario func(context.Context, *lab.Lab) (recipes.Outcome, error)) (r result) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	l := srv.lab(ctx)
	r.Outcome, r.err = scenario(ctx, l)
	cancel() // ends what a scenario that broke off has left waiting
	r.err = errors.Join(r.err, l.Close())
	return r
}

func (r result) String() string {
	switch {
	case r.err != nil:
		return fmt.Sprintf("ERROR  %v", r.err)
	case r.Safe:
		return "safe   " + r.What
	}
	return "FAILS  " + r.What
}

// printTable reports whether all recipes failed and all wrappers were safe.
func printTable(w io.Writer, rows []row) (ok bool) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RECIPE\tSCENARIO\tCHECK\tBY HAND AND WITH LOCKGEN")
	surprises := 0
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n\t\t\t%s\n", r.Recipe, r.Scenario, r.Check, r.byHand, r.safely)
		if r.byHand.err != nil || r.byHand.Safe || r.safely.err != nil || !r.safely.Safe {
			surprises++
		}
	}
	t.Flush()
	fmt.Fprintf(w, "\n%d scenarios, %d not as expected: recipes fail, generated wrappers are safe\n", len(rows), surprises)
	fmt.Fprintln(w, "what a check finds and why: go run ./cmd/locklint -explain LL2005")
	return surprises == 0
}

func printStorms(w io.Writer, storms []recipes.Storm) {
	if len(storms) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%d wait for one lock, each holds it for 1 ms\n", storms[0].Waiters)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "strategy\tcommands each\tlongest wait\tall done\t")
	for _, s := range storms {
		fmt.Fprintf(t, "%s\t%.1f\t%s\t%s\t\n", s.Strategy, s.Commands, round(s.Longest), round(s.Elapsed))
	}
	t.Flush()
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond / 10) }
