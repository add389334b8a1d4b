package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
)

// idleWait is a long critical section: everybody else only waits, and what that costs the server is the question.
type idleWait struct {
	crews  []crew // each is measured for every contender
	rounds int
	hold   time.Duration // how long the one holder keeps the lock
}

var (
	idleFull = idleWait{
		crews:  []crew{{processes: 1, waiters: 1000}, {processes: 10, waiters: 100}},
		rounds: 3, hold: 3 * time.Second,
	}
	idleQuick = idleWait{crews: []crew{{processes: 1, waiters: 100}}, rounds: 1, hold: 500 * time.Millisecond}
)

func (s idleWait) run(ctx context.Context, b *bench) error {
	return withServer(ctx, func(server *testenv.RedisServer) error {
		admin := redis.NewClient(&redis.Options{Addr: server.Addr()})
		defer admin.Close()
		order := must(named("raw-200ms", "redsync", "redislock", "rueidislock", "lockgen-fifo", "lockgen"))
		res, err := b.alternate(ctx, "idle-wait", s.rounds, order, func(ctx context.Context, c contender, round int) ([]value, error) {
			var values []value
			for i, cr := range s.crews {
				more, err := s.measure(ctx, c, cr, admin, server.Addr(), fmt.Sprintf("idle-%s-%d-%d", c.name, round, i))
				if err != nil {
					return nil, err
				}
				values = append(values, more...)
			}
			return values, nil
		})
		if err != nil {
			return err
		}
		for _, cr := range s.crews {
			name := fmt.Sprintf("≤ 20 commands/s in all, %s", cr)
			b.report.atMost("idle-wait", name, res.of(lockgenDefault.name, clientLoad(cr)), 20)
			b.report.atMost("idle-wait", name+", those inside scripts too", res.of(lockgenDefault.name, serverLoad(cr)), 20)
		}
		return nil
	})
}

// String says how the waiters are spread.
func (cr crew) String() string { return fmt.Sprintf("%d × %d waiters", cr.processes, cr.waiters) }

func clientLoad(cr crew) string { return fmt.Sprintf("client commands/s, %s", cr) }

// serverLoad counts the commands inside scripts as well.
func serverLoad(cr crew) string { return fmt.Sprintf("server commands/s, %s", cr) }

// measure counts from the moment at which the waiters begin until the holder would release: queueing up is part of it,
// giving up at the end is not.
func (s idleWait) measure(ctx context.Context, c contender, cr crew, admin *redis.Client, addr, key string) (values []value, err error) {
	holder, err := c.open(address{addr: addr})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, holder.close()) }()
	unlock, err := holder.lock(ctx, key)
	if err != nil {
		return nil, err
	}
	var processed int64
	found, err := cr.work(ctx, c, addr, key, func(ctx context.Context) error {
		before, err := infoNumber(ctx, admin, "stats", "total_commands_processed")
		if err != nil {
			return err
		}
		if err := sleep(ctx, s.hold); err != nil {
			return err
		}
		after, err := infoNumber(ctx, admin, "stats", "total_commands_processed")
		processed = after - before - 1 // the first INFO
		return err
	})
	if err := errors.Join(err, unlock(ctx)); err != nil {
		return nil, err
	}
	if found.Acquired > 0 {
		return nil, fmt.Errorf("%w by %s: %d acquisitions while the lock was held", errOverlap, c.name, found.Acquired)
	}
	return []value{
		{clientLoad(cr), float64(found.Commands) / found.Elapsed.Seconds()},
		{serverLoad(cr), float64(processed) / s.hold.Seconds()},
	}, nil
}
