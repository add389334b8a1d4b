package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/lockgen/lockgen/examples/cluster/internal/witness"
	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// memoryCluster is a cluster in this process: the nodes have a Locker and a
// Scheduler each, and share one store.
type memoryCluster struct {
	obituary
	notes  witness.Memory
	jobs   []witness.Job
	failed chan error
	looker *node

	stopNodes context.CancelFunc
	running   sync.WaitGroup
}

func startMemory(o options, b *board, logger *slog.Logger) (*memoryCluster, error) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &memoryCluster{failed: make(chan error, o.nodes), stopNodes: cancel}
	store := memstore.New()
	var err error
	if c.looker, err = newLooker(store, logger); err != nil {
		cancel()
		return nil, err
	}
	var nodes []*node
	for i := range o.nodes {
		n, err := c.newNode(store, nodeName(i), b, logger)
		if err != nil {
			cancel()
			for _, n := range append(nodes, c.looker) {
				err = errors.Join(err, n.close())
			}
			return nil, err
		}
		nodes = append(nodes, n)
	}
	c.jobs = nodes[0].specs()
	for _, n := range nodes {
		b.node(n.locks.Node(), "running")
		c.running.Go(func() { c.run(ctx, n, b) })
	}
	return c, nil
}

func (c *memoryCluster) newNode(store lockrt.Store, name string, b *board, logger *slog.Logger) (*node, error) {
	locks, err := lockrt.New(store, lockrt.Config{Node: name, Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("set up %s: %w", name, err)
	}
	return newNode(locks, &c.notes, logger.With("node", name), b.finished)
}

func newLooker(store lockrt.Store, logger *slog.Logger) (*node, error) {
	locks, err := lockrt.New(store, lockrt.Config{Node: onlookerName, Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("set up the dashboard: %w", err)
	}
	return newOnlooker(locks, logger)
}

func (c *memoryCluster) run(ctx context.Context, n *node, b *board) {
	err := n.run(ctx)
	b.node(n.locks.Node(), "stopped")
	if err != nil && !errors.Is(err, context.Canceled) {
		c.failed <- fmt.Errorf("%s: %w", n.locks.Node(), err)
	}
}

func (c *memoryCluster) specs() []witness.Job                   { return c.jobs }
func (c *memoryCluster) now(context.Context) (time.Time, error) { return time.Now(), nil }
func (c *memoryCluster) events() ([]witness.Event, error)       { return c.notes.Events(), nil }
func (c *memoryCluster) failures() <-chan error                 { return c.failed }
func (c *memoryCluster) close() error                           { return c.looker.close() }
func (c *memoryCluster) onlooker() *jobs.Scheduler              { return c.looker.scheduler }

func (c *memoryCluster) killOne() (string, error) {
	return "", errors.New("nodes in one process cannot be killed")
}

func (c *memoryCluster) stop(ctx context.Context) error {
	c.stopNodes()
	stopped := make(chan struct{})
	go func() { c.running.Wait(); close(stopped) }()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the nodes did not stop: %w", ctx.Err())
	}
}
