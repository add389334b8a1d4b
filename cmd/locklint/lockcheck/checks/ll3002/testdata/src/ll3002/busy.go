package ll3002

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
)

// A flag that says yes where somebody else has the lock, or how long to wait.

func busyObtain(ctx context.Context, c *redislock.Client) (*redislock.Lock, bool, error) {
	lock, err := c.Obtain(ctx, "busy", time.Minute, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	return lock, false, nil
}

func busyThrough(ctx context.Context, c *redislock.Client) (*redislock.Lock, bool, error) {
	return busyObtain(ctx, c)
}

func waitObtain(ctx context.Context, c *redislock.Client) (*redislock.Lock, time.Duration, error) {
	lock, err := c.Obtain(ctx, "wait", time.Minute, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil, time.Second, nil
	}
	if err != nil {
		return nil, 0, err
	}
	return lock, 0, nil
}

func busyDropped(ctx context.Context, c *redislock.Client, work func() error) error {
	lock, _, err := busyObtain(ctx, c) // want `LL3002: the outcome of busyObtain is ignored`
	if err != nil {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func busyThroughDropped(ctx context.Context, c *redislock.Client, work func() error) error {
	lock, _, err := busyThrough(ctx, c) // want `LL3002: the outcome of busyThrough is ignored`
	if err != nil {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func waitDropped(ctx context.Context, c *redislock.Client, work func() error) error {
	lock, _, err := waitObtain(ctx, c) // want `LL3002: the outcome of waitObtain is ignored`
	if err != nil {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func busyLogged(ctx context.Context, c *redislock.Client, work func() error) error {
	lock, busy, err := busyObtain(ctx, c) // want `LL3002: when busyObtain fails, the code goes on without the lock`
	if err != nil {
		return err
	}
	if busy {
		println("busy")
	} else {
		defer lock.Release(ctx)
	}
	return work()
}

func busyLooked(ctx context.Context, c *redislock.Client, work func() error) error {
	lock, busy, err := busyObtain(ctx, c)
	if err != nil || busy {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func waitLooked(ctx context.Context, c *redislock.Client, work func() error) error {
	lock, wait, err := waitObtain(ctx, c)
	if err != nil || wait > 0 {
		return err
	}
	defer lock.Release(ctx)
	return work()
}
