package main

import (
	"context"
	"errors"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// permitsLimit is how many may be inside.
const permitsLimit = 10

// permits is a limit that ten times as many want to pass, from several processes.
type permits struct {
	rounds, waiters, processes int
	slice, stay                time.Duration
}

var (
	permitsFull  = permits{rounds: 5, waiters: 100, processes: 10, slice: 3 * time.Second, stay: 10 * time.Millisecond}
	permitsQuick = permits{rounds: 1, waiters: 30, processes: 3, slice: 300 * time.Millisecond, stay: 10 * time.Millisecond}
)

const (
	permitTurns = "part of limit/hold"
	// permitAsked counts with the hold that was asked for: a sleep lasts longer, on a machine with much to do by a lot.
	permitAsked = "with the hold as asked"
)

var permitsKind = contender{name: "lockgen", open: func(at address) (locks, error) {
	return openKind(at, lockrt.Options{Permits: permitsLimit})
}}

func (p permits) run(ctx context.Context, b *bench) error {
	return withServer(ctx, func(server *testenv.RedisServer) error {
		order := []contender{zsetSemaphore, redissonSemaphore, permitsKind}
		res, err := b.alternate(ctx, "permits", p.rounds, order, func(ctx context.Context, c contender, _ int) ([]value, error) {
			return p.measure(ctx, c, address{addr: server.Addr()})
		})
		if err != nil {
			return err
		}
		b.report.atLeast("permits", "≥ 0.9 of limit/hold", res.of(permitsKind.name, permitTurns), 0.9)
		b.report.atMost("permits", "nobody starves", res.of(permitsKind.name, starvedOf), 0)
		return nil
	})
}

// measure fails if more were inside than the limit.
func (p permits) measure(ctx context.Context, c contender, at address) ([]value, error) {
	var all []locks
	closeAll := func() (err error) {
		for _, l := range all {
			err = errors.Join(err, l.close())
		}
		return err
	}
	for range p.processes {
		l, err := c.open(at)
		if err != nil {
			return nil, errors.Join(err, closeAll())
		}
		all = append(all, l)
	}
	var w inside
	made, err := hold(ctx, p.waiters, p.slice, p.stay, &w, func(i, _ int) (locks, bool) { return all[i%p.processes], false })
	if err = errors.Join(err, w.check(permitsLimit), closeAll()); err != nil {
		return nil, err
	}
	// In all of the time all permits would be held.
	held := float64(made.inside.Load()) / float64(permitsLimit*made.elapsed)
	asked := perSecond(made.total(), made.elapsed) * p.stay.Seconds() / permitsLimit
	return []value{{permitTurns, held}, {permitAsked, asked}, {starvedOf, float64(made.starved())}}, nil
}
