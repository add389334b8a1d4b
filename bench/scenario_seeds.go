package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
)

// seeds is the load test of the article on flash sales: many requests at once, in one process, all for one key, with
// next to nothing to do under the lock.
type seeds struct {
	goroutines, each int           // callers, and acquisitions of each
	rounds           int           // per contender
	atLeast          time.Duration // a round repeats the whole until so much time has passed: fast ones need it
	limit            time.Duration // a round ends here, whoever still waits
}

var (
	seedsFull  = seeds{goroutines: 1000, each: 2, rounds: 3, atLeast: 300 * time.Millisecond, limit: 25 * time.Second}
	seedsQuick = seeds{goroutines: 200, each: 2, rounds: 1, atLeast: 50 * time.Millisecond, limit: 1500 * time.Millisecond}
)

const acquisitions = "acquisitions/s"

func (s seeds) run(ctx context.Context, b *bench) error {
	return withServer(ctx, func(server *testenv.RedisServer) error {
		order := must(named("raw-200ms", "redsync", "redislock", "rueidislock", "lockgen-fifo", "lockgen"))
		res, err := b.alternate(ctx, "seeds", s.rounds, order, func(ctx context.Context, c contender, round int) ([]value, error) {
			return s.measure(ctx, c, address{addr: server.Addr()}, fmt.Sprintf("seeds-%d", round))
		})
		if err != nil {
			return err
		}
		b.report.atLeast("seeds", "≥ 20× the best peer", res.againstBestPeer(b, acquisitions), 20)
		b.report.atLeast("seeds", "≥ 100× the 200 ms sleep", res.against(b, rawSleep.name, acquisitions), 100)
		return nil
	})
}

func (s seeds) measure(ctx context.Context, c contender, at address, key string) (values []value, err error) {
	l, err := c.open(at)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := warmUp(ctx, l, key); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	var (
		waits   []time.Duration
		count   int
		elapsed time.Duration
	)
	for first := true; first || elapsed < s.atLeast && limited.Err() == nil; first = false {
		batch, took, err := s.batch(ctx, limited, c, l, key)
		if err != nil {
			return nil, err
		}
		waits, count, elapsed = append(waits, batch.all...), count+batch.acquired, elapsed+took
	}
	return []value{
		{acquisitions, perSecond(count, elapsed)},
		{"wait p50 ms", millisOf(quantile(waits, 0.50))},
		{"wait p99 ms", millisOf(quantile(waits, 0.99))},
	}, nil
}

// waited is what a number of callers saw.
type waited struct {
	all      []time.Duration // every wait, those included that the end of the time cut off
	acquired int
}

// batch lets everybody acquire as often as they should. Who waits when limited ends gives up.
func (s seeds) batch(ctx, limited context.Context, c contender, l locks, key string) (waited, time.Duration, error) {
	g := newGuard()
	perCaller := make([]waited, s.goroutines)
	took, err := burst(limited, s.goroutines, func(limited context.Context, i int) error {
		mine := &perCaller[i]
		for range s.each {
			begun := time.Now()
			unlock, err := c.lockWithin(ctx, limited, l, key)
			mine.all = append(mine.all, time.Since(begun))
			if err != nil {
				return unlessOver(limited, err)
			}
			mine.acquired++
			g.leave(uint64(i+1), g.enter(uint64(i+1)))
			if err := unlock(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	var sum waited
	for _, w := range perCaller {
		sum.all, sum.acquired = append(sum.all, w.all...), sum.acquired+w.acquired
	}
	if err == nil {
		err = g.check(c.name, sum.acquired)
	}
	return sum, took, err
}
