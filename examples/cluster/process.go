package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/lockgen/lockgen/examples/internal/child"
	"github.com/lockgen/lockgen/examples/internal/witness"
)

// process is a node that is a process of its own.
type process struct {
	*child.Process
	notes string // file of the witness
}

// launch starts a process. Its notes are a file of their own: the last line in that of
// a process that was killed may be half a one.
func (c *redisCluster) launch(name string) (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return nil, errors.New("the nodes are being stopped")
	}
	notes := filepath.Join(c.dir, fmt.Sprintf("%s-%d", name, len(c.children)))
	started, err := child.Start(child.Config{
		Role: childRole, Name: name, Stderr: c.stderr, Hear: c.hear, Ended: c.ended,
		Setup: childSetup{Store: c.store, Namespace: c.namespace, Node: name, Notes: notes},
	})
	if err != nil {
		return nil, err
	}
	p := &process{started, notes}
	c.children = append(c.children, p)
	c.board.node(name, stateStarting)
	return p, nil
}

// hear shows a run that a node tells of.
func (c *redisCluster) hear(note json.RawMessage) {
	var r runLine
	if json.Unmarshal(note, &r) == nil {
		c.board.finished(r)
	}
}

func (c *redisCluster) await(ctx context.Context, p *process) error {
	var jobs []witness.Job
	if err := p.AwaitReady(ctx, &jobs); err != nil {
		return err
	}
	if c.jobs == nil {
		c.jobs = jobs
	}
	c.board.process(p.Name(), p.ID())
	return nil
}

func (c *redisCluster) start(name string) error {
	p, err := c.launch(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	if err := c.await(ctx, p); err != nil {
		p.Kill()
		return err
	}
	return nil
}

func (c *redisCluster) all() []*process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.children)
}

// alive returns the living process of that name, nil if there is none.
func (c *redisCluster) alive(name string) *process {
	for _, p := range c.all() {
		if p.Name() == name && p.Alive() {
			return p
		}
	}
	return nil
}

func (c *redisCluster) living() (names []string) {
	for _, p := range c.all() {
		if p.Alive() {
			names = append(names, p.Name())
		}
	}
	slices.Sort(names)
	return names
}

// ended is called when a process has ended.
func (c *redisCluster) ended(p *child.Process) {
	c.mu.Lock()
	stopping := c.stopping
	c.mu.Unlock()
	if p.Killed() || p.Err() != nil {
		c.add(p.Name())
	}
	switch {
	case p.Killed():
		c.board.node(p.Name(), stateKilled)
	case stopping && p.Err() == nil:
		c.board.node(p.Name(), stateStopped)
	default:
		c.board.node(p.Name(), stateEnded)
		c.failed <- fmt.Errorf("%s ended by itself: %w", p.Name(), p.Reason())
	}
}
