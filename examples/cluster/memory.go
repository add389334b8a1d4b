package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/lockgen/lockgen/examples/cluster/internal/lifeline"
	"github.com/lockgen/lockgen/examples/internal/witness"
	"github.com/lockgen/lockgen/jobs"
	jobmem "github.com/lockgen/lockgen/jobs/memstore"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// memoryCluster is a cluster in this process: the nodes have a Locker and a
// Scheduler each, and share one store of locks and one of jobs.
type memoryCluster struct {
	obituary
	locks  lockrt.Store
	store  jobs.Store
	notes  witness.Memory
	board  *board
	logger *slog.Logger
	jobs   []witness.Job
	failed chan error
	looker *node

	running sync.WaitGroup // what the living do, and what the dead still do
	mu      sync.Mutex     // guards members
	members []*member      // of those with one name the last counts
}

// member is a node in this process, and what keeps it alive.
type member struct {
	*node
	line  *lifeline.Line
	drain context.CancelFunc
}

func startMemory(o options, b *board, logger *slog.Logger) (*memoryCluster, error) {
	c := &memoryCluster{
		locks: memstore.New(), store: jobmem.New(), board: b, logger: logger,
		failed: make(chan error, o.nodes),
	}
	var err error
	if c.looker, err = c.newLooker(); err != nil {
		return nil, err
	}
	for i := range o.nodes {
		if err := c.start(nodeName(i)); err != nil {
			ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
			defer cancel()
			return nil, errors.Join(err, c.stop(ctx), c.close())
		}
	}
	c.jobs = c.members[0].specs()
	return c, nil
}

func (c *memoryCluster) newLooker() (*node, error) {
	locks, err := lockrt.New(c.locks, lockrt.Config{Node: onlookerName, Logger: c.logger})
	if err != nil {
		return nil, fmt.Errorf("set up the dashboard: %w", err)
	}
	return newOnlooker(locks, c.store, c.logger)
}

func (c *memoryCluster) start(name string) error {
	line := lifeline.New()
	logger := line.Logger(c.logger.With("node", name))
	locks, err := lockrt.New(line.Locks(c.locks), lockrt.Config{Node: name, Logger: logger})
	if err != nil {
		return fmt.Errorf("set up %s: %w", name, err)
	}
	notes := &witness.Recorder{Log: line.Notes(&c.notes), Node: name, Bind: line.Bind}
	tell := func(r runLine) {
		if line.Alive() {
			c.board.finished(r)
		}
	}
	n, err := newNode(locks, line.Jobs(c.store), notes, logger, tell)
	if err != nil {
		return err
	}
	ctx, drain := context.WithCancel(context.Background())
	m := &member{node: n, line: line, drain: drain}
	c.mu.Lock()
	c.members = append(c.members, m)
	c.mu.Unlock()
	c.board.node(name, stateRunning)
	c.running.Go(func() { c.run(ctx, m) })
	return nil
}

func (c *memoryCluster) run(ctx context.Context, m *member) {
	err := m.run(ctx)
	if !m.line.Alive() {
		return // what a dead node says nobody hears
	}
	c.board.node(m.locks.Node(), stateStopped)
	if err != nil && !errors.Is(err, context.Canceled) {
		c.failed <- fmt.Errorf("%s: %w", m.locks.Node(), err)
	}
}

// kill cuts the node off. Its goroutines end in the background.
func (c *memoryCluster) kill(name string) error {
	m := c.alive(name)
	if m == nil {
		return errors.New("it does not live")
	}
	m.line.Cut()
	c.add(name)
	c.board.node(name, stateKilled)
	c.running.Go(func() {
		over, cancel := context.WithDeadline(context.Background(), time.Now())
		defer cancel()
		_ = m.scheduler.Drain(over) // its error says that runs were cut off
		m.drain()
	})
	return nil
}

// alive returns the living node of that name, nil if there is none.
func (c *memoryCluster) alive(name string) *member {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.members, func(m *member) bool { return m.locks.Node() == name && m.line.Alive() })
	if i < 0 {
		return nil
	}
	return c.members[i]
}

func (c *memoryCluster) living() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.members {
		if m.line.Alive() {
			names = append(names, m.locks.Node())
		}
	}
	slices.Sort(names)
	return names
}

func (c *memoryCluster) specs() []witness.Job                   { return c.jobs }
func (c *memoryCluster) now(context.Context) (time.Time, error) { return time.Now(), nil }
func (c *memoryCluster) events() ([]witness.Event, error)       { return c.notes.Events(), nil }
func (c *memoryCluster) failures() <-chan error                 { return c.failed }
func (c *memoryCluster) close() error                           { return c.looker.close() }
func (c *memoryCluster) onlooker() *jobs.Scheduler              { return c.looker.scheduler }

func (c *memoryCluster) stop(ctx context.Context) error {
	c.mu.Lock()
	for _, m := range c.members {
		m.drain()
	}
	c.mu.Unlock()
	stopped := make(chan struct{})
	go func() { c.running.Wait(); close(stopped) }()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the nodes did not stop: %w", ctx.Err())
	}
}
