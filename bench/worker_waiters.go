package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// waitersWorker is a process in which many callers want one key again and again.
const waitersWorker = "waiters"

// waitersOrders is what such a process is told.
type waitersOrders struct {
	Contender string        `json:"contender"`
	Addr      string        `json:"addr"`
	Key       string        `json:"key"`
	Guard     string        `json:"guard"`   // the file of the guard that all processes share
	First     uint64        `json:"first"`   // its callers are First, First+1 … towards the guard
	Waiters   int           `json:"waiters"` // how many callers
	Hold      time.Duration `json:"hold"`    // how long each keeps the lock
}

// waitersFound is what such a process reports of the time between go and stop.
type waitersFound struct {
	Acquired int             `json:"acquired"`
	Starved  int             `json:"starved"`  // callers that never got the lock
	Commands int64           `json:"commands"` // sent by its clients
	Elapsed  time.Duration   `json:"elapsed"`
	Held     time.Duration   `json:"held"`  // by all callers together: a sleep takes longer than it is told
	Waits    []time.Duration `json:"waits"` // those that stop cut off included
	Wakes    []time.Duration `json:"wakes"` // from when a holder of another process was about to release
}

// caller is what one goroutine of them saw.
type caller struct {
	waits    []time.Duration
	wakes    []time.Duration
	acquired int
	held     time.Duration
}

func runWaiters(ctx context.Context, text []byte, at *signals) (found any, err error) {
	var o waitersOrders
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, err
	}
	chosen, err := named(o.Contender)
	if err != nil {
		return nil, err
	}
	g, unmap, err := openGuardFile(o.Guard)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unmap()) }()
	sent := new(wireCount)
	l, err := chosen[0].open(address{addr: o.Addr, sent: sent})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := warmUp(ctx, l, o.Key+"-warm-up-of-"+o.Contender); err != nil {
		return nil, err
	}
	if err := at.ready(); err != nil {
		return nil, err
	}
	return o.measure(ctx, chosen[0], l, g, sent, at)
}

func (o waitersOrders) measure(ctx context.Context, c contender, l locks, g *guard, sent *wireCount, at *signals) (*waitersFound, error) {
	before, begun := sent.commands.Load(), time.Now()
	window, parentGone := at.untilStop(ctx)
	var commands int64
	var elapsed time.Duration
	snapshot := make(chan struct{})
	context.AfterFunc(window, func() { // before the waiters give up: what that costs is not part of the window
		commands, elapsed = sent.commands.Load()-before, time.Since(begun)
		close(snapshot)
	})
	callers := make([]caller, o.Waiters)
	_, err := burst(window, o.Waiters, func(window context.Context, i int) error {
		return o.call(ctx, window, c, l, g, o.First+uint64(i), &callers[i])
	})
	<-snapshot
	if err := errors.Join(err, parentGone()); err != nil {
		return nil, err
	}
	found := &waitersFound{Commands: commands, Elapsed: elapsed}
	for _, saw := range callers {
		found.Acquired += saw.acquired
		found.Held += saw.held
		found.Waits = append(found.Waits, saw.waits...)
		found.Wakes = append(found.Wakes, saw.wakes...)
		if saw.acquired == 0 {
			found.Starved++
		}
	}
	return found, nil
}

// call is one caller: acquire, hold, release, until the window is over.
func (o waitersOrders) call(ctx, window context.Context, c contender, l locks, g *guard, who uint64, saw *caller) error {
	for window.Err() == nil {
		begun := time.Now()
		unlock, err := c.lockWithin(ctx, window, l, o.Key)
		got := time.Now()
		saw.waits = append(saw.waits, got.Sub(begun))
		if err != nil {
			return unlessOver(window, err)
		}
		if at, last := g.passed(); at.After(begun) && (last < o.First || last >= o.First+uint64(o.Waiters)) {
			saw.wakes = append(saw.wakes, got.Sub(at))
		}
		entry := g.enter(who)
		time.Sleep(o.Hold)
		g.leave(who, entry)
		saw.held += time.Since(got)
		saw.acquired++
		if err := unlock(ctx); err != nil {
			return err
		}
	}
	return nil
}
