package jobs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// cluster is a simulated cluster inside a synctest bubble: real Lockers and schedulers on one memory store of locks and
// one of jobs.
type cluster struct {
	t     *testing.T
	locks *memstore.Store
	store Store
	all   []*node

	mu   sync.Mutex
	done []Run // what OnRun told, on all nodes
}

// node is one process of the cluster.
type node struct {
	*Scheduler
	wire   *wire // between it and both stores
	c      *cluster
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // of Run; valid after ended
}

func newCluster(t *testing.T) *cluster {
	return &cluster{t: t, locks: memstore.New(), store: NewMemoryStore()}
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// node adds a node with a clock that is off by skew.
func (c *cluster) node(cfg Config, skew time.Duration) *node {
	c.t.Helper()
	name := fmt.Sprint("n", len(c.all))
	w := &wire{}
	locks, err := lockrt.New(&lockWire{Store: c.locks, wire: w}, lockrt.Config{Node: name, Logger: quiet()})
	if err != nil {
		c.t.Fatal(err)
	}
	if cfg.Store == nil {
		cfg.Store = &storeWire{Store: c.store, wire: w}
	}
	cfg.Logger = quiet()
	cfg.OnRun = func(r Run) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.done = append(c.done, r)
	}
	s, err := New(locks, cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	s.clock = newClock(func() time.Time { return time.Now().Add(skew) })
	n := &node{Scheduler: s, c: c, wire: w, ended: make(chan struct{})}
	c.all = append(c.all, n)
	return n
}

func (n *node) add(j Job) {
	n.c.t.Helper()
	if err := n.Add(j); err != nil {
		n.c.t.Fatal(err)
	}
}

func (n *node) start() {
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	go func() {
		defer close(n.ended)
		n.err = n.Run(ctx)
	}()
}

// stop ends a node in good order.
func (n *node) stop() {
	n.c.t.Helper()
	n.cancel()
	<-n.ended
	if n.err != nil {
		n.c.t.Errorf("Run: %v", n.err)
	}
	if err := n.locks.Close(context.Background()); err != nil {
		n.c.t.Errorf("close locker: %v", err)
	}
}

func (c *cluster) stop() {
	c.t.Helper()
	for _, n := range c.all {
		n.stop()
	}
}

// runs returns what OnRun told about a job, by tick and attempt.
func (c *cluster) runs(job string) []Run {
	c.mu.Lock()
	defer c.mu.Unlock()
	var runs []Run
	for _, r := range c.done {
		if r.Job == job {
			runs = append(runs, r)
		}
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return a.Tick.Compare(b.Tick) })
	return runs
}

// expectOnce checks that the job ran well at each tick of spec after from and up to to, once.
func (c *cluster) expectOnce(job, spec string, from, to time.Time) {
	c.t.Helper()
	got := make(map[time.Time]int)
	for _, r := range c.runs(job) {
		if r.Outcome != OutcomeOK {
			c.t.Errorf("%s: tick %s ended %s: %s", job, r.Tick, r.Outcome, r.Reason)
		}
		if early := r.Tick.Sub(r.Started); early > 0 {
			c.t.Errorf("%s: tick %s started %s early", job, r.Tick, early)
		}
		got[r.Tick]++
	}
	e, err := Job{Name: job, Spec: spec, Run: func(context.Context) error { return nil }}.prepare(time.UTC)
	if err != nil {
		c.t.Fatal(err)
	}
	n := 0
	for tick := e.after(from); !tick.After(to); tick = e.after(tick) {
		n++
		if got[tick] != 1 {
			c.t.Errorf("%s: tick %s ran %d times", job, tick, got[tick])
		}
		delete(got, tick)
	}
	if n == 0 || len(got) > 0 {
		c.t.Errorf("%s: %d ticks expected, and beyond them ran %v", job, n, got)
	}
}

// outcomes writes runs as "outcome outcome …" for comparison.
func outcomes(runs []Run) string {
	var words []string
	for _, r := range runs {
		words = append(words, string(r.Outcome))
	}
	return strings.Join(words, " ")
}

// bubble runs a test in a simulated world that begins at 2000-01-01.
func bubble(t *testing.T, test func(t *testing.T, c *cluster)) {
	synctest.Test(t, func(t *testing.T) { test(t, newCluster(t)) })
}

func sleepFor(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		if !pause(ctx, d) {
			return context.Cause(ctx)
		}
		return nil
	}
}
