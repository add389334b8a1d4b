package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/lockgen/lockgen/examples/internal/child"
	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	startTimeout = 2 * time.Minute  // for all instances to connect and to serve
	stopTimeout  = 2 * closeTimeout // for all of them to finish
)

// processService is a process for each instance.
type processService struct {
	locks    *lockrt.Locker // takes no lock: it asks who holds the stock
	stockKey string
	children []*child.Process
	at       []string // where they take orders
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
		setup := childSetup{
			Name: instanceName(i), Store: o.store, Namespace: namespace,
			DB: o.db, Sale: saleName, Instances: o.instances, Unsafe: o.unsafe,
		}
		c, err := child.Start(child.Config{Role: childRole, Name: setup.Name, Setup: setup, Stderr: stderr})
		if err != nil {
			return nil, err
		}
		p.children = append(p.children, c)
	}
	return p, p.awaitReady(ctx)
}

func (p *processService) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	p.at = make([]string, len(p.children))
	for i, c := range p.children {
		if err := c.AwaitReady(ctx, &p.at[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *processService) urls() []string { return p.at }

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
			if c.Name() == info.Node {
				victim = c
			}
		}
		break
	}
	victim.Kill()
	return victim.Name(), nil
}

func (p *processService) close() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	for _, c := range p.children {
		c.Stop()
	}
	for _, c := range p.children {
		err = errors.Join(err, c.AwaitEnd(ctx))
		if c.Err() != nil && !c.Killed() {
			err = errors.Join(err, fmt.Errorf("%s ended with an error: %w", c.Name(), c.Reason()))
		}
	}
	return errors.Join(err, p.locks.Close(ctx))
}
