package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// startTimeout is for an instance to connect and to serve.
const startTimeout = 30 * time.Second

// processService is a process for each instance.
type processService struct {
	locks    *lockrt.Locker // takes no lock: it asks who holds the stock
	stockKey string
	children []*child
}

func startProcesses(ctx context.Context, o options, saleName string, stderr io.Writer) (_ *processService, err error) {
	namespace := "flashsale-" + saleName
	locks, err := lockrt.Open(ctx, o.store, lockrt.Config{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	p := &processService{locks: locks, stockKey: (&sale{name: saleName}).stockResource()}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	for i := range o.instances {
		c, err := startChild(childSetup{
			Name: instanceName(i), Store: o.store, Namespace: namespace,
			DB: o.db, Sale: saleName, Instances: o.instances, Unsafe: o.unsafe,
		}, stderr)
		if err != nil {
			return nil, err
		}
		p.children = append(p.children, c)
	}
	for _, c := range p.children {
		if err := c.awaitReady(ctx); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *processService) urls() (urls []string) {
	for _, c := range p.children {
		urls = append(urls, c.url)
	}
	return urls
}

// holderTries is how often to ask before nobody seems to want the lock at all:
// while it changes hands there is a holder at nearly every moment.
const holderTries = 100

func (p *processService) killHolder(ctx context.Context) (string, error) {
	victim := p.children[0]
	for range holderTries {
		info, err := p.locks.Holder(ctx, p.stockKey)
		if errors.Is(err, lockrt.ErrNotHeld) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("ask who holds the stock: %w", err)
		}
		for _, c := range p.children {
			if c.name == info.Node {
				victim = c
			}
		}
		break
	}
	victim.kill()
	return victim.name, nil
}

func (p *processService) close() (err error) {
	for _, c := range p.children {
		c.askToStop()
	}
	for _, c := range p.children {
		err = errors.Join(err, c.awaitEnd())
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return errors.Join(err, p.locks.Close(ctx))
}

// child is an instance that is a process of its own.
type child struct {
	name   string
	url    string // set by awaitReady
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	answer chan childAnswer // closed when its output has ended
	gone   chan error       // receives the exit once
	killed bool             // by us
}

// startChild runs this program again as an instance.
func startChild(setup childSetup, stderr io.Writer) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start %s: find this program: %w", setup.Name, err)
	}
	c := &child{
		name: setup.Name, cmd: exec.Command(program, childArgument, setup.Name),
		answer: make(chan childAnswer, 1), gone: make(chan error, 1),
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
		c.read(stdout)
		c.gone <- c.cmd.Wait()
	}()
	// A child that ended already says why on its output; that beats this error.
	_ = json.NewEncoder(c.stdin).Encode(setup)
	return c, nil
}

// read passes on the one answer and follows the output to its end.
func (c *child) read(stdout io.Reader) {
	defer close(c.answer)
	var a childAnswer
	if json.NewDecoder(stdout).Decode(&a) == nil {
		c.answer <- a
	}
	_, _ = io.Copy(io.Discard, stdout)
}

// awaitReady blocks until the instance serves.
func (c *child) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case a, ok := <-c.answer:
		switch {
		case !ok:
			return fmt.Errorf("%s did not start: it ended without a word", c.name)
		case a.Err != "":
			return fmt.Errorf("%s did not start: %s", c.name, a.Err)
		}
		c.url = a.URL
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s did not start: %w", c.name, ctx.Err())
	}
}

// askToStop lets the instance finish its requests.
func (c *child) askToStop() { c.stdin.Close() }

// awaitEnd blocks until the process has ended, by force if it takes too long.
func (c *child) awaitEnd() error {
	select {
	case err := <-c.gone:
		c.gone <- err // for the next who asks
		if err != nil && !c.killed {
			return fmt.Errorf("%s ended with an error: %w", c.name, err)
		}
		return nil
	case <-time.After(2 * closeTimeout):
		c.kill()
		return fmt.Errorf("%s did not stop within %s and was killed", c.name, 2*closeTimeout)
	}
}

// kill ends the process with SIGKILL and returns when it is gone.
func (c *child) kill() {
	c.killed = true
	_ = c.cmd.Process.Kill() // fails if it has ended by itself
	c.gone <- <-c.gone
}
