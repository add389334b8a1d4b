package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
)

// uncontended is everyday use: nobody else wants the key.
type uncontended struct {
	rounds     int
	goroutines int           // of the second measurement, each with a key of its own; the first has one
	slice      time.Duration // how long each measurement lasts: short, so that many rounds alternate
}

var (
	uncontendedFull  = uncontended{rounds: 11, goroutines: 64, slice: 400 * time.Millisecond}
	uncontendedQuick = uncontended{rounds: 1, goroutines: 64, slice: 100 * time.Millisecond}
)

const (
	pairsAlone    = "acq+rel/s, 1 goroutine"
	pairsTogether = "acq+rel/s, many goroutines"
	pairP99       = "acq+rel p99 ms, many goroutines"
)

func (u uncontended) run(ctx context.Context, b *bench) error {
	return withServer(ctx, func(server *testenv.RedisServer) error {
		order := must(named("raw", "redsync", "redislock", "rueidislock", "lockgen"))
		res, err := b.alternate(ctx, "uncontended", u.rounds, order, func(ctx context.Context, c contender, _ int) ([]value, error) {
			return u.measure(ctx, c, address{addr: server.Addr()})
		})
		if err != nil {
			return err
		}
		b.report.atLeast("uncontended", "1 goroutine: ≥ 0.95× the raw two-command floor", res.against(b, rawFloor.name, pairsAlone), 0.95)
		b.report.atLeast("uncontended", fmt.Sprintf("%d goroutines: ≥ 1.3× the best peer", u.goroutines),
			res.againstBestPeer(b, pairsTogether), 1.3)
		return nil
	})
}

func (u uncontended) measure(ctx context.Context, c contender, at address) (values []value, err error) {
	l, err := c.open(at)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	alone, _, err := u.pairs(ctx, c, l, 1)
	if err != nil {
		return nil, err
	}
	together, took, err := u.pairs(ctx, c, l, u.goroutines)
	if err != nil {
		return nil, err
	}
	return []value{{pairsAlone, alone}, {pairsTogether, together}, {pairP99, millisOf(quantile(took, 0.99))}}, nil
}

// pairs lets n goroutines acquire and release, each its own key, for the slice of time. It returns how many pairs there
// were in a second, and how long each took.
func (u uncontended) pairs(ctx context.Context, c contender, l locks, n int) (rate float64, took []time.Duration, err error) {
	pairs := make([][]time.Duration, n)
	guards := make([]*guard, n)
	keys := make([]string, n)
	for i := range n {
		guards[i], keys[i] = newGuard(), fmt.Sprintf("uncontended-%d", i)
	}
	// Every goroutine warms up, so that the pool of connections is full.
	if _, err := burst(ctx, n, func(ctx context.Context, i int) error { return warmUp(ctx, l, keys[i]) }); err != nil {
		return 0, nil, err
	}
	elapsed, err := burst(ctx, n, func(ctx context.Context, i int) error {
		for end, begun := time.Now().Add(u.slice), time.Now(); begun.Before(end); {
			unlock, err := l.lock(ctx, keys[i])
			if err != nil {
				return err
			}
			guards[i].leave(1, guards[i].enter(1))
			if err := unlock(ctx); err != nil {
				return err
			}
			over := time.Now()
			pairs[i] = append(pairs[i], over.Sub(begun))
			begun = over
		}
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	for i, g := range guards {
		if err := g.check(c.name, len(pairs[i])); err != nil {
			return 0, nil, err
		}
		took = append(took, pairs[i]...)
	}
	return perSecond(len(took), elapsed), took, nil
}
