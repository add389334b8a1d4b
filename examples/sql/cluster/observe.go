package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockgen/lockgen/examples/internal/witness"
)

// observe takes orders and watches the jobs, until each tick that was due meanwhile has run.
func (c *cluster) observe(ctx context.Context) (w witness.Window, err error) {
	if w.Open, err = c.open(ctx); err != nil {
		return w, err
	}
	closeShop := c.openShop(ctx)
	err = c.wait(ctx)
	if err = errors.Join(err, closeShop()); err != nil {
		return w, err
	}
	if w.Close, err = c.now(); err != nil {
		return w, err
	}
	return w, c.settle(w)
}

// openShop begins to take orders, if the jobs are where orders can be, too.
func (c *cluster) openShop(ctx context.Context) (closeShop func() error) {
	if c.shop == nil {
		return func() error { return nil }
	}
	serving, end := context.WithCancel(ctx)
	closed := make(chan error, 1)
	go func() { closed <- c.shop.serve(serving) }()
	return func() error {
		end()
		return <-closed
	}
}

// judge compares what was due with what the jobs have noted, and the orders with their receipts. The nodes are gone.
func (c *cluster) judge(w witness.Window) (ok bool, err error) {
	verdict, err := c.verdict(w)
	if err != nil {
		return false, err
	}
	for _, p := range verdict.Problems {
		c.printf("%s", p)
	}
	honest, err := c.auditShop()
	if err != nil {
		return false, err
	}
	c.printf("%s", verdict)
	return verdict.OK() && honest, nil
}

func (c *cluster) auditShop() (ok bool, err error) {
	if c.shop == nil {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), reachTimeout)
	defer cancel()
	problems, orders, sent, err := c.shop.audit(ctx)
	if err != nil {
		return false, err
	}
	for _, p := range problems {
		c.printf("%s", p)
	}
	c.printf("%d customers, %d orders, %d receipts sent, %d wrong", c.shop.taken, orders, sent, len(problems))
	return len(problems) == 0, nil
}

func (c *cluster) verdict(w witness.Window) (v witness.Verdict, err error) {
	events, err := c.events()
	if err != nil {
		return v, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return witness.Judge(c.specs, w, c.deaths, events)
}

// open waits for a first run, and returns its tick: from there on every tick is due.
func (c *cluster) open(ctx context.Context) (opened time.Time, err error) {
	ready, err := c.now()
	if err != nil {
		return ready, err
	}
	bounded, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	err = c.poll(bounded, func(events []witness.Event) bool {
		at := slices.IndexFunc(events, func(e witness.Event) bool { return e.Kind == witness.Start && !e.Tick.Before(ready) })
		if at >= 0 {
			opened = events[at].Tick
		}
		return at >= 0
	})
	if err != nil {
		return opened, fmt.Errorf("wait for the first run: %w", err)
	}
	return opened, nil
}

// wait returns at the end of -for, at a signal, or when a node fails; -kill happens meanwhile.
func (c *cluster) wait(ctx context.Context) error {
	end, kill := after(c.runs), after(c.kill)
	for {
		select {
		case <-end:
			return nil
		case <-ctx.Done():
			return nil
		case err := <-c.failed:
			return err
		case <-kill:
			kill = nil
			victim, err := c.busyNode()
			if err != nil {
				return err
			}
			victim.Kill()
			c.printf("%s killed with SIGKILL: it released nothing; the others find out", victim.Name())
		}
	}
}

// after is time.After, and never for 0.
func after(d time.Duration) <-chan time.Time {
	if d == 0 {
		return nil
	}
	return time.After(d)
}

// settle lets the nodes go on until each tick of the window has run: one that became due just before the end, or that
// waits for the lock of a dead node, is late but not missed.
func (c *cluster) settle(w witness.Window) error {
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	var judgeErr error
	err := c.poll(ctx, func([]witness.Event) bool {
		var v witness.Verdict
		v, judgeErr = c.verdict(w)
		return judgeErr != nil || v.Open == 0
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // the witness says what is missing
	}
	return errors.Join(err, judgeErr)
}

// poll looks at the events until seen says that they are the awaited ones.
func (c *cluster) poll(ctx context.Context, seen func([]witness.Event) bool) error {
	for {
		events, err := c.events()
		if err != nil || seen(events) {
			return err
		}
		select {
		case <-time.After(lookEvery):
		case err := <-c.failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
