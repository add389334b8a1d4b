package ll3008

import (
	"context"
	"time"

	"github.com/bsm/redislock"
)

// The context is a variable that is set again; a literal captures it.

func setAgain(ctx context.Context, c *redislock.Client, work func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	lock, err := c.Obtain(ctx, "k", time.Minute, nil)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release(ctx) }() // want `LL3008: lock.Release is given a context with a deadline`
	return work(ctx)
}

func setToBackground(ctx context.Context, c *redislock.Client, work func(context.Context) error) error {
	lock, err := c.Obtain(ctx, "k", time.Minute, nil)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release(ctx) }()
	err = work(ctx)
	ctx = context.Background()
	return err
}

// A handler that is made as a literal is given its context by whoever calls it.

func handler(c *redislock.Client, work func(context.Context) error) func(context.Context, string) error {
	return func(ctx context.Context, key string) error {
		lock, err := c.Obtain(ctx, key, time.Minute, nil)
		if err != nil {
			return err
		}
		defer lock.Release(ctx) // want `LL3008: lock.Release is given the caller's context`
		return work(ctx)
	}
}

func calledHere(c *redislock.Client, work func(context.Context) error) error {
	return func(ctx context.Context) error {
		lock, err := c.Obtain(ctx, "k", time.Minute, nil)
		if err != nil {
			return err
		}
		defer lock.Release(ctx)
		return work(ctx)
	}(context.Background())
}
