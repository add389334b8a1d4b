package jobstest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	"github.com/lockgen/lockgen/jobs"
	jobmem "github.com/lockgen/lockgen/jobs/memstore"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// Start is the time at which a simulation begins.
var Start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Run runs a test in a simulation that begins at [Start]. The test must stop all nodes before it ends. With the race
// detector the process has one processor meanwhile, because the detector crashes in bubbles that have more (golang/go
// issue 78156).
func Run(t *testing.T, test func(t *testing.T, c *Cluster)) {
	testsync.Bubble(t, func(t *testing.T) { test(t, New(t)) })
}

// Cluster is a number of nodes that share a store of locks and one of jobs. All methods may be called concurrently.
type Cluster struct {
	Locks *memstore.Store
	Store jobs.Store

	t testing.TB

	mu       sync.Mutex // guards what follows
	nodes    []*Node
	finished []jobs.Run
}

// New returns a cluster without nodes, for tests that run in a synctest bubble already.
func New(t testing.TB) *Cluster {
	return &Cluster{t: t, Locks: memstore.New(), Store: jobmem.New()}
}

// Node adds a node with a local clock that is off by skew. [Node.Start] runs it. Its name is n0, n1 and so on. If cfg
// has a Store, it is behind the node's link as well. Logger defaults to none. OnRun is called in addition to the
// cluster's own.
func (c *Cluster) Node(cfg jobs.Config, skew time.Duration) *Node {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &Node{cluster: c, name: fmt.Sprint("n", len(c.nodes)), ended: make(chan struct{})}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	locks, err := lockrt.New(&lockLink{Store: c.Locks, link: &n.link}, lockrt.Config{Node: n.name, Logger: quiet})
	if err != nil {
		c.t.Fatal(err)
	}
	if cfg.Store == nil {
		cfg.Store = c.Store
	}
	cfg.Store = &jobLink{Store: cfg.Store, link: &n.link}
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return time.Now().Add(skew) }
	}
	onRun := cfg.OnRun
	cfg.OnRun = func(r jobs.Run) {
		c.note(n, r)
		if onRun != nil {
			onRun(r)
		}
	}
	if n.Scheduler, err = jobs.New(locks, cfg); err != nil {
		c.t.Fatal(err)
	}
	c.nodes = append(c.nodes, n)
	return n
}

// note keeps what OnRun told. What a crashed node says nobody hears.
func (c *Cluster) note(n *Node, r jobs.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !n.link.crashed.Load() {
		c.finished = append(c.finished, r)
	}
}

// Nodes returns all nodes that were ever added, in that order.
func (c *Cluster) Nodes() []*Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.nodes)
}

// Outage cuts all nodes off from both stores, or connects them again.
func (c *Cluster) Outage(on bool) {
	for _, n := range c.Nodes() {
		n.CutJobs(on)
		n.CutLocks(on)
	}
}

// Flush deletes all data of the store of jobs, like a server that restarts without its data. It needs the store that
// New made.
func (c *Cluster) Flush() { c.Store.(interface{ Flush() }).Flush() }

// Snapshot returns a function that resets the store of jobs to its present state, like a restored backup. It needs the
// store that New made.
func (c *Cluster) Snapshot() (restore func()) {
	return c.Store.(interface{ Snapshot() func() }).Snapshot()
}

// Stop shuts all nodes down cleanly.
func (c *Cluster) Stop() {
	c.t.Helper()
	for _, n := range c.Nodes() {
		n.Stop()
	}
}

// Finished returns the runs of a job that nodes have reported, sorted by tick and then by their end.
func (c *Cluster) Finished(job string) []jobs.Run {
	c.mu.Lock()
	defer c.mu.Unlock()
	var runs []jobs.Run
	for _, r := range c.finished {
		if r.Job == job {
			runs = append(runs, r)
		}
	}
	slices.SortStableFunc(runs, func(a, b jobs.Run) int { return a.Tick.Compare(b.Tick) })
	return runs
}

// Recorded returns the records of a job that the store has, the latest first.
func (c *Cluster) Recorded(job string) []jobs.Run {
	c.t.Helper()
	runs, err := c.Store.Runs(context.Background(), []string{job}, 1000)
	if err != nil {
		c.t.Fatal(err)
	}
	return runs[0]
}
