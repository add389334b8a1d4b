package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/cluster/internal/witness"
	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

const readyTimeout = 20 * time.Second

// redisCluster is a cluster of processes that share a Redis server.
type redisCluster struct {
	obituary
	client    *redis.Client // asks for the time, and cleans up
	namespace string        // new for every invocation, so that nothing an earlier one left behind matters
	board     *board
	dir       string // the witness's files, one for each process
	store     string
	stderr    io.Writer
	jobs      []witness.Job
	looker    *node
	failed    chan error

	mu       sync.Mutex // guards what follows
	children []*child   // of those with one name the last counts
	stopping bool
}

// startRedis fails within five seconds, and before it has started anything, if
// the server does not answer.
func startRedis(ctx context.Context, o options, b *board, stderr io.Writer) (*redisCluster, error) {
	client, err := reach(ctx, o.store)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lockgen-cluster-")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a directory for the witness: %w", err), client.Close())
	}
	c := &redisCluster{
		client: client, namespace: "cluster-" + strings.ToLower(rand.Text()[:12]), board: b, dir: dir,
		store: o.store, stderr: stderr, failed: make(chan error, o.nodes),
	}
	if c.looker, err = c.newLooker(ctx); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if err := c.startNodes(ctx, o.nodes); err != nil {
		for _, child := range c.all() {
			child.kill()
		}
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *redisCluster) newLooker(ctx context.Context) (*node, error) {
	logger := newLogger(c.stderr)
	locks, err := lockrt.Open(ctx, c.store, lockrt.Config{Namespace: c.namespace, Node: onlookerName, Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("set up the dashboard: %w", err)
	}
	return newOnlooker(locks, nil, logger)
}

// startNodes starts all nodes and waits until each has said that it runs.
func (c *redisCluster) startNodes(ctx context.Context, nodes int) error {
	for i := range nodes {
		if _, err := c.launch(nodeName(i)); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for _, child := range c.all() {
		if err := c.await(ctx, child); err != nil {
			return err
		}
	}
	return nil
}

// launch starts a process. Its notes are a file of their own: the last line in that of
// a process that was killed may be half a one.
func (c *redisCluster) launch(name string) (*child, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return nil, errors.New("the nodes are being stopped")
	}
	notes := filepath.Join(c.dir, fmt.Sprintf("%s-%d", name, len(c.children)))
	setup := childSetup{Store: c.store, Namespace: c.namespace, Node: name, Notes: notes}
	child, err := startChild(setup, c.stderr, c.board, c.childGone)
	if err != nil {
		return nil, err
	}
	c.children = append(c.children, child)
	c.board.node(name, stateStarting)
	return child, nil
}

func (c *redisCluster) await(ctx context.Context, child *child) error {
	jobs, err := child.awaitReady(ctx)
	if err != nil {
		return err
	}
	if c.jobs == nil {
		c.jobs = jobs
	}
	c.board.process(child.name, child.cmd.Process.Pid)
	return nil
}

func (c *redisCluster) start(name string) error {
	child, err := c.launch(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	if err := c.await(ctx, child); err != nil {
		child.kill()
		return err
	}
	return nil
}

func (c *redisCluster) all() []*child {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.children)
}

// alive returns the living process of that name, nil if there is none.
func (c *redisCluster) alive(name string) *child {
	for _, child := range c.all() {
		if child.name == name && child.alive() {
			return child
		}
	}
	return nil
}

func (c *redisCluster) living() (names []string) {
	for _, child := range c.all() {
		if child.alive() {
			names = append(names, child.name)
		}
	}
	slices.Sort(names)
	return names
}

// childGone is called when a process has ended.
func (c *redisCluster) childGone(child *child, exit error) {
	c.mu.Lock()
	stopping := c.stopping
	c.mu.Unlock()
	killed := child.killed.Load()
	if killed || exit != nil {
		c.add(child.name)
	}
	switch {
	case killed:
		c.board.node(child.name, stateKilled)
	case stopping && exit == nil:
		c.board.node(child.name, stateStopped)
	default:
		c.board.node(child.name, stateEnded)
		c.failed <- fmt.Errorf("%s ended by itself: %w", child.name, child.reason(exit))
	}
}

func (c *redisCluster) specs() []witness.Job   { return c.jobs }
func (c *redisCluster) failures() <-chan error { return c.failed }

func (c *redisCluster) onlooker() *jobs.Scheduler { return c.looker.scheduler }

func (c *redisCluster) now(ctx context.Context) (time.Time, error) {
	now, err := c.client.Time(ctx).Result()
	if err != nil {
		return now, fmt.Errorf("ask Redis at %s for the time: %w", c.client.Options().Addr, err)
	}
	return now, nil
}

func (c *redisCluster) events() ([]witness.Event, error) {
	var events []witness.Event
	for _, child := range c.all() {
		of, err := witness.ReadFile(child.notes)
		if err != nil {
			return nil, err
		}
		events = append(events, of...)
	}
	return events, nil
}

func (c *redisCluster) kill(name string) error {
	child := c.alive(name)
	if child == nil {
		return errors.New("it does not live")
	}
	child.kill()
	return nil
}

func (c *redisCluster) stop(ctx context.Context) error {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	for _, child := range c.all() {
		child.askToStop()
	}
	var errs []error
	for _, child := range c.all() {
		select {
		case <-child.gone:
		case <-ctx.Done():
			errs = append(errs, fmt.Errorf("%s did not drain and was killed: %w", child.name, ctx.Err()))
			child.kill()
		}
	}
	return errors.Join(errs...)
}

func (c *redisCluster) close() error {
	var err error
	if c.looker != nil {
		err = c.looker.close()
	}
	return errors.Join(err, os.RemoveAll(c.dir), forget(c.client, c.namespace), c.client.Close())
}
