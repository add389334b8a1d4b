package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockgen/lockgen/examples/cluster/internal/witness"
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
	// killOne ends a node with SIGKILL, one that runs a job if there is one,
	// and returns its name when it is gone.
	killOne() (string, error)
	// deaths says when nodes have died.
	deaths() map[string]time.Time
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
	at map[string]time.Time
}

func (o *obituary) add(node string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.at == nil {
		o.at = map[string]time.Time{}
	}
	o.at[node] = time.Now()
}

func (o *obituary) deaths() map[string]time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	deaths := make(map[string]time.Time, len(o.at))
	for node, at := range o.at {
		deaths[node] = at
	}
	return deaths
}

// busyNode picks the node to kill: the one with the oldest unfinished run, which
// is one of a long job and will not end by itself just now; else the first.
func busyNode(candidates []string, events []witness.Event) string {
	ended := map[string]bool{}
	for _, e := range events {
		if e.Kind == witness.End {
			ended[e.Run] = true
		}
	}
	chosen, since := candidates[0], time.Time{}
	for _, e := range events {
		running := e.Kind == witness.Start && !ended[e.Run] && slices.Contains(candidates, e.Node)
		if running && (since.IsZero() || e.At.Before(since)) {
			chosen, since = e.Node, e.At
		}
	}
	return chosen
}
