package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/internal/witness"
	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

const readyTimeout = 2 * time.Minute

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
	children []*process // of those with one name the last counts
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
		for _, p := range c.all() {
			p.Kill()
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
	for _, p := range c.all() {
		if err := c.await(ctx, p); err != nil {
			return err
		}
	}
	return nil
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
	for _, p := range c.all() {
		of, err := witness.ReadFile(p.notes)
		if err != nil {
			return nil, err
		}
		events = append(events, of...)
	}
	return events, nil
}

func (c *redisCluster) kill(name string) error {
	p := c.alive(name)
	if p == nil {
		return errors.New("it does not live")
	}
	p.Kill()
	return nil
}

func (c *redisCluster) stop(ctx context.Context) error {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	for _, p := range c.all() {
		p.Stop()
	}
	var errs []error
	for _, p := range c.all() {
		errs = append(errs, p.AwaitEnd(ctx))
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
