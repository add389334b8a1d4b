package ll3003

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

func busyAsked(ctx context.Context, c *redislock.Client, work func() error) error {
	lock, busy, err := busyObtain(ctx, c)
	if err != nil || busy {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func busyFirst(ctx context.Context, c *redislock.Client, work func() error) error {
	lock, busy, err := busyThrough(ctx, c)
	if busy {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func waitAsked(ctx context.Context, c *redislock.Client, work func() error) error {
	lock, wait, err := waitObtain(ctx, c)
	if err != nil {
		return err
	}
	if wait > 0 {
		time.Sleep(wait)
		return nil
	}
	defer lock.Release(ctx)
	return work()
}

func waitNil(ctx context.Context, c *redislock.Client, work func() error) error {
	lock, _, err := waitObtain(ctx, c)
	if err != nil || lock == nil {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func busyForgotten(ctx context.Context, c *redislock.Client, paid bool, work func() error) error {
	lock, busy, err := busyObtain(ctx, c) // want `LL3003: the lock from busyObtain is not released on every path`
	if err != nil || busy {
		return err
	}
	if paid {
		return nil
	}
	err = work()
	return errors.Join(err, lock.Release(ctx))
}

func busyThroughForgotten(ctx context.Context, c *redislock.Client, paid bool, work func() error) error {
	lock, busy, err := busyThrough(ctx, c) // want `LL3003: the lock from busyThrough is not released on every path`
	if busy || err != nil {
		return err
	}
	if paid {
		return nil
	}
	err = work()
	return errors.Join(err, lock.Release(ctx))
}

func waitForgotten(ctx context.Context, c *redislock.Client, paid bool, work func() error) error {
	lock, _, err := waitObtain(ctx, c) // want `LL3003: the lock from waitObtain is not released on every path`
	if err != nil || lock == nil {
		return err
	}
	if paid {
		return nil
	}
	err = work()
	return errors.Join(err, lock.Release(ctx))
}
