package ll3003

import (
	"context"
	"time"

	"github.com/bsm/redislock"
)

// What a message says of the way out.

func notThatBranch(ctx context.Context, c *redislock.Client, delay time.Duration, a, b bool) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3003: the lock from Obtain is not released on every path: the return at line 23 \(when !\(a && b\)\) leaves it held`
	if err != nil {
		return err
	}
	if delay > 0 {
		time.Sleep(delay)
	}
	if a && b {
		lock.Release(ctx)
	}
	return work()
}

func eitherOf(ctx context.Context, c *redislock.Client, a, b bool) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `the return at line 36 \(when a \|\| b\) leaves it held`
	if err != nil {
		return err
	}
	if a || b {
		_ = lock.Key()
	} else {
		lock.Release(ctx)
	}
	return work()
}

// One leak, told once.
func triedAgain(ctx context.Context, c *redislock.Client, a bool) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3003: the lock from Obtain is not released on every path`
	for err != nil {
		time.Sleep(time.Second)
		lock, err = c.Obtain(ctx, "a", time.Minute, nil)
	}
	if a {
		return work()
	}
	return lock.Release(ctx)
}

// Two locks leak at one place.
func two(ctx context.Context, c *redislock.Client, a bool) error {
	first, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3003: the lock from Obtain is not released on every path`
	if err != nil {
		return err
	}
	second, err := c.Obtain(ctx, "b", time.Minute, nil) // want `LL3003: the lock from Obtain is not released on every path`
	if err != nil {
		first.Release(ctx)
		return err
	}
	if a {
		return work()
	}
	second.Release(ctx)
	return first.Release(ctx)
}
