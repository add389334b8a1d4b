package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockgen/lockgen/examples/internal/witness"
	"github.com/lockgen/lockgen/jobs"
)

// cluster is a set of nodes that run, in this process or in several.
type cluster interface {
	// specs are the jobs of every node.
	specs() []witness.Job
	// onlooker is a scheduler that has the jobs of the nodes and runs none of them:
	// the dashboard sees the cluster through it.
	onlooker() *jobs.Scheduler
	// now is the time on the store's clock, which decides when a tick is due.
	now(context.Context) (time.Time, error)
	// events are the witness's notes so far, of all nodes.
	events() ([]witness.Event, error)
	// living are the nodes that run.
	living() []string
	// kill ends a living node without warning, as SIGKILL does: it releases nothing and
	// tells nobody. It returns when nothing of the node can happen any more.
	kill(node string) error
	// start starts a node again that was killed, and returns when it runs.
	start(node string) error
	// deaths says when nodes have died.
	deaths() witness.Deaths
	// failures receives a node's unexpected end.
	failures() <-chan error
	// stop drains all nodes, or kills them when ctx ends first, and returns when
	// they are gone.
	stop(ctx context.Context) error
	// close gives back what the cluster used. The events are gone after it.
	close() error
}

// onlookerName is the node name of the dashboard.
const onlookerName = "dashboard"

func nodeName(i int) string { return fmt.Sprintf("node-%d", i+1) }

// obituary keeps when nodes died. The zero value is empty.
type obituary struct {
	mu sync.Mutex // guards at
	at witness.Deaths
}

func (o *obituary) add(node string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.at == nil {
		o.at = witness.Deaths{}
	}
	o.at[node] = append(o.at[node], time.Now())
}

func (o *obituary) deaths() witness.Deaths {
	o.mu.Lock()
	defer o.mu.Unlock()
	deaths := make(witness.Deaths, len(o.at))
	for node, at := range o.at {
		deaths[node] = slices.Clone(at)
	}
	return deaths
}

// unfinished are the runs that have started and not ended, the oldest first.
func unfinished(events []witness.Event) []witness.Event {
	ended := map[string]bool{}
	for _, e := range events {
		if e.Kind == witness.End {
			ended[e.Run] = true
		}
	}
	runs := slices.DeleteFunc(slices.Clone(events), func(e witness.Event) bool {
		return e.Kind != witness.Start || ended[e.Run]
	})
	slices.SortStableFunc(runs, func(a, b witness.Event) int { return a.At.Compare(b.At) })
	return runs
}

// busyNode picks the node to kill: the one with the oldest unfinished run, which
// is one of a long job and will not end by itself just now; else the first.
func busyNode(candidates []string, events []witness.Event) string {
	for _, e := range unfinished(events) {
		if slices.Contains(candidates, e.Node) {
			return e.Node
		}
	}
	return candidates[0]
}
