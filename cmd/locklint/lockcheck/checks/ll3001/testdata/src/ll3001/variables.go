package ll3001

import (
	"context"
	"time"

	"github.com/bsm/redislock"
)

// Nobody can be told where a variable holds what runs deferred, or on the way out after a failure.

func disarmed(ctx context.Context, c *redislock.Client) (*redislock.Lock, error) {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return nil, err
	}
	undo := func() { lock.Release(context.Background()) }
	defer func() { undo() }()
	if err := work(); err != nil {
		return nil, err
	}
	undo = func() {}
	return lock, nil
}

func onWaysOut(ctx context.Context, c *redislock.Client) (*redislock.Lock, error) {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return nil, err
	}
	var undo func()
	undo = func() { lock.Release(context.Background()) }
	defer func() {
		if recover() != nil {
			undo()
		}
	}()
	if err := work(); err != nil {
		undo()
		return nil, err
	}
	return lock, nil
}

func runsAtOnce(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	release := func() { lock.Release(context.Background()) } // want `LL3001`
	defer func() { release() }()
	err = work()
	release()
	release = func() {}
	return err
}

func handsItOut(ctx context.Context, c *redislock.Client) (func(), error) {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return nil, err
	}
	release := func() { lock.Release(context.Background()) } // want `LL3001`
	defer func() { work() }()
	if work() != nil {
		release = func() {}
	}
	return release, nil
}
