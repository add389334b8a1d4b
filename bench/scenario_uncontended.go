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
	alone, err := u.pairs(ctx, c, l, 1)
	if err != nil {
		return nil, err
	}
	together, err := u.pairs(ctx, c, l, u.goroutines)
	if err != nil {
		return nil, err
	}
	return []value{{pairsAlone, alone}, {pairsTogether, together}}, nil
}

// pairs lets n goroutines acquire and release, each its own key, for the slice of time.
func (u uncontended) pairs(ctx context.Context, c contender, l locks, n int) (float64, error) {
	done := make([]int, n)
	guards := make([]*guard, n)
	keys := make([]string, n)
	for i := range n {
		guards[i], keys[i] = newGuard(), fmt.Sprintf("uncontended-%d", i)
	}
	// Every goroutine warms up, so that the pool of connections is full.
	if _, err := crowd(ctx, n, func(ctx context.Context, i int) error { return warmUp(ctx, l, keys[i]) }); err != nil {
		return 0, err
	}
	elapsed, err := crowd(ctx, n, func(ctx context.Context, i int) error {
		for end := time.Now().Add(u.slice); time.Now().Before(end); done[i]++ {
			unlock, err := l.lock(ctx, keys[i])
			if err != nil {
				return err
			}
			guards[i].leave(1, guards[i].enter(1))
			if err := unlock(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	total := 0
	for i, g := range guards {
		total += done[i]
		if err := g.check(c.name, done[i]); err != nil {
			return 0, err
		}
	}
	return perSecond(total, elapsed), nil
}
