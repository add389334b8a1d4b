package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
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
	dir       string // the witness's files, one for each node
	children  []*child
	jobs      []witness.Job
	looker    *node
	failed    chan error

	mu       sync.Mutex      // guards what follows
	expected map[string]bool // nodes that were killed on purpose
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
		failed: make(chan error, o.nodes), expected: map[string]bool{},
	}
	if c.looker, err = c.newLooker(ctx, o, stderr); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if err := c.startNodes(ctx, o, stderr); err != nil {
		for _, child := range c.children {
			c.expect(child.name)
			child.kill()
		}
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *redisCluster) newLooker(ctx context.Context, o options, stderr io.Writer) (*node, error) {
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	locks, err := lockrt.Open(ctx, o.store, lockrt.Config{Namespace: c.namespace, Node: onlookerName, Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("set up the dashboard: %w", err)
	}
	return newOnlooker(locks, logger)
}

// startNodes starts all nodes and waits until each has said that it runs.
func (c *redisCluster) startNodes(ctx context.Context, o options, stderr io.Writer) error {
	for i := range o.nodes {
		name := nodeName(i)
		setup := childSetup{Store: o.store, Namespace: c.namespace, Node: name, Notes: filepath.Join(c.dir, name)}
		child, err := startChild(setup, stderr, c.board, c.childGone)
		if err != nil {
			return err
		}
		c.children = append(c.children, child)
		c.board.node(name, "starting")
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for _, child := range c.children {
		jobs, err := child.awaitReady(ctx)
		if err != nil {
			return err
		}
		c.jobs = jobs
		c.board.node(child.name, fmt.Sprintf("running, process %d", child.cmd.Process.Pid))
	}
	return nil
}

func (c *redisCluster) expect(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected[node] = true
}

// childGone is called when a process has ended.
func (c *redisCluster) childGone(child *child, exit error) {
	c.mu.Lock()
	killed, stopping := c.expected[child.name], c.stopping
	c.mu.Unlock()
	if killed || exit != nil {
		c.add(child.name)
	}
	switch {
	case killed:
		c.board.node(child.name, "killed")
	case stopping && exit == nil:
		c.board.node(child.name, "stopped")
	default:
		c.board.node(child.name, "ended by itself")
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
	for _, child := range c.children {
		of, err := witness.ReadFile(child.notes)
		if err != nil {
			return nil, err
		}
		events = append(events, of...)
	}
	return events, nil
}

func (c *redisCluster) killOne() (string, error) {
	events, err := c.events()
	if err != nil {
		return "", err
	}
	byName := map[string]*child{}
	var alive []string
	for _, child := range c.children {
		if child.alive() {
			byName[child.name] = child
			alive = append(alive, child.name)
		}
	}
	if len(alive) == 0 {
		return "", errors.New("no node is left to kill")
	}
	victim := byName[busyNode(alive, events)]
	c.expect(victim.name)
	victim.kill()
	return victim.name, nil
}

func (c *redisCluster) stop(ctx context.Context) error {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	for _, child := range c.children {
		child.askToStop()
	}
	var errs []error
	for _, child := range c.children {
		select {
		case <-child.gone:
		case <-ctx.Done():
			errs = append(errs, fmt.Errorf("%s did not drain and was killed: %w", child.name, ctx.Err()))
			c.expect(child.name)
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
