package dashboard

import (
	"context"
	"sync"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// state is what the store said of the whole cluster at one moment.
type state struct {
	Jobs     []jobs.Status
	Nodes    []jobs.Node
	Running  []jobs.Run
	Failures []jobs.Run // the newest first

	jobsErr, nodesErr, runningErr, failuresErr error
}

// cache lets all pages that are looked at share what was asked of the store: however many people watch, it is asked
// by one of them at a time, and for a fifth of the time at most.
type cache struct {
	fetch func(context.Context) *state

	mu     sync.Mutex // guards what follows
	last   *state
	until  time.Time     // when last is too old
	flight chan struct{} // closed when the one who asks has the answer; nil when nobody asks
	stale  bool          // what is in flight was asked for before something was changed
}

// freshFor is the least time for which an answer is used.
const freshFor = time.Second

// get returns the state, not much older than freshFor. It blocks until the store has answered or ctx ends.
func (c *cache) get(ctx context.Context) (*state, error) {
	for {
		c.mu.Lock()
		if time.Now().Before(c.until) {
			defer c.mu.Unlock()
			return c.last, nil
		}
		flight := c.flight
		if flight == nil {
			break
		}
		c.mu.Unlock()
		select {
		case <-flight:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	c.flight, c.stale = make(chan struct{}), false
	c.mu.Unlock()
	return c.ask(ctx), nil
}

// ask is called by one request at a time. The others wait for its answer, so it does not end with the request.
func (c *cache) ask(ctx context.Context) *state {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	began := time.Now()
	var s *state
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		now := time.Now()
		if c.last = s; s != nil && !c.stale {
			c.until = now.Add(max(freshFor, 4*now.Sub(began)))
		}
		close(c.flight)
		c.flight = nil
	}()
	s = c.fetch(ctx)
	return s
}

// forget lets the next page ask again: something was changed.
func (c *cache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until, c.stale = time.Time{}, true
}

// most is how many runs the overview can show of each kind.
const mostRuns = 200

func (d *dashboard) fetchState(ctx context.Context) *state {
	s := &state{}
	var asking sync.WaitGroup
	asking.Go(func() { s.Jobs, s.jobsErr = d.jobs.Status(ctx) })
	asking.Go(func() { s.Nodes, s.nodesErr = d.jobs.Nodes(ctx) })
	asking.Go(func() { s.Running, s.runningErr = d.jobs.RunningRuns(ctx) })
	asking.Go(func() { s.Failures, s.failuresErr = d.jobs.Failures(ctx, mostRuns) })
	asking.Wait()
	return s
}
