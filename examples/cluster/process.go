package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"

	"github.com/lockgen/lockgen/examples/cluster/internal/witness"
)

// child is a node that is a process of its own.
type child struct {
	name  string
	notes string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ready chan []witness.Job // one element: its jobs
	gone  chan struct{}      // closed when the process has ended and all it said was read

	killed atomic.Bool // by us

	mu   sync.Mutex // guards said
	said string     // why it gave up, in its own words
}

// startChild runs this program again as a node. gone is called when the process
// has ended, before child.gone is closed.
func startChild(setup childSetup, stderr io.Writer, b *board, gone func(*child, error)) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start %s: find this program: %w", setup.Node, err)
	}
	c := &child{
		name: setup.Node, notes: setup.Notes, cmd: exec.Command(program, childArgument, setup.Node),
		ready: make(chan []witness.Job, 1), gone: make(chan struct{}),
	}
	c.cmd.Stderr = stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	go func() {
		defer close(c.gone)
		c.read(stdout, b)
		gone(c, c.cmd.Wait())
	}()
	// A child that ended already says why on its output; that beats this error.
	_ = json.NewEncoder(c.stdin).Encode(setup)
	return c, nil
}

// read passes on what the child says until its output ends.
func (c *child) read(stdout io.Reader, b *board) {
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return // the process has ended; half a line is of one that was killed
		}
		var msg message
		if err := json.Unmarshal(line, &msg); err != nil {
			b.printf("%s says: %s", c.name, line)
			continue
		}
		switch {
		case msg.Run != nil:
			b.finished(*msg.Run)
		case msg.Err != "":
			c.mu.Lock()
			c.said = msg.Err
			c.mu.Unlock()
		default:
			select {
			case c.ready <- msg.Ready:
			default: // it may say so once
			}
		}
	}
}

// awaitReady blocks until the node runs, and returns its jobs.
func (c *child) awaitReady(ctx context.Context) ([]witness.Job, error) {
	select {
	case jobs := <-c.ready:
		return jobs, nil
	case <-c.gone:
		return nil, fmt.Errorf("%s did not start: %w", c.name, c.reason(nil))
	case <-ctx.Done():
		return nil, fmt.Errorf("%s did not start: %w", c.name, ctx.Err())
	}
}

// reason is why the process ended.
func (c *child) reason(exit error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.said != "":
		return errors.New(c.said)
	case exit != nil:
		return exit
	}
	return errors.New("it ended without a word")
}

func (c *child) alive() bool {
	select {
	case <-c.gone:
		return false
	default:
		return true
	}
}

// askToStop lets the node drain. Its process may have ended by itself.
func (c *child) askToStop() { io.WriteString(c.stdin, stopWord+"\n") }

// kill ends the process with SIGKILL and returns when it is gone.
func (c *child) kill() {
	c.killed.Store(true)
	c.cmd.Process.Kill()
	<-c.gone
}
