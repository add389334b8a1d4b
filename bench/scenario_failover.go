package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// failover kills the leader of several servers in the moment in which a lock is released that somebody waits for.
type failover struct{ rounds int }

const movesOn = "lock moves on after a leader kill, ms"

// failoverLimit is how long one round may take. Elections and sessions of servers are over within a small part of it.
const failoverLimit = 2 * time.Minute

// server is one that may be killed.
type server interface {
	Kill()
	Restart() error
}

func (f failover) compare(
	ctx context.Context, b *bench, name, addr string, ours, peer contender, leader func(context.Context) (server, error),
) error {
	res, err := b.alternate(ctx, name, f.rounds, []contender{peer, ours},
		func(ctx context.Context, c contender, round int) ([]value, error) {
			return f.measure(ctx, c, address{addr: addr}, fmt.Sprintf("failover-%s-%d", c.name, round), leader)
		})
	if err != nil {
		return err
	}
	b.report.atMost(name, "≤ 1.5× "+peer.name, res.compare(b, ours.name, peer.name, movesOn), 1.5)
	return nil
}

func (f failover) measure(
	ctx context.Context, c contender, at address, key string, leader func(context.Context) (server, error),
) (values []value, err error) {
	ctx, cancel := context.WithTimeout(ctx, failoverLimit)
	defer cancel()
	holder, err := c.open(at)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, holder.close()) }()
	waiter, err := c.open(at)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, waiter.close()) }()
	unlock, err := holder.lock(ctx, key)
	if err != nil {
		return nil, err
	}
	got := make(chan error, 1)
	var moved time.Time
	go func() {
		var release func(context.Context) error
		err := untilDone(ctx, func(ctx context.Context) (err error) { // peers give up when their server goes
			release, err = waiter.lock(ctx, key)
			return err
		})
		moved = time.Now()
		if err == nil {
			err = untilDone(ctx, release)
		}
		if err != nil {
			err = fmt.Errorf("who waits: %w", err)
		}
		got <- err
	}()
	if err := sleep(ctx, time.Second); err != nil { // the waiter is in the queue by then
		return nil, err
	}
	first, err := leader(ctx)
	if err != nil {
		return nil, err
	}
	killed := time.Now()
	first.Kill()
	err = untilDone(ctx, unlock)
	if err != nil {
		err = fmt.Errorf("who releases: %w", err)
	}
	err = errors.Join(err, <-got, first.Restart())
	return []value{{movesOn, millisOf(moved.Sub(killed))}}, err
}

// untilDone repeats a call that fails while there is no leader.
func untilDone(ctx context.Context, call func(context.Context) error) error {
	for {
		err := call(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}
