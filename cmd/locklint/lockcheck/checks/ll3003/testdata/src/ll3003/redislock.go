package ll3003

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
)

func obtains(ctx context.Context, c *redislock.Client, paid bool) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3003: the lock from Obtain is not released on every path: the return at line 19 \(when paid\) leaves it held`
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil
	} else if err != nil {
		return err
	}
	if paid {
		return errPaid
	}
	return lock.Release(ctx)
}

func obtainsMany(ctx context.Context, c *redislock.Client) error {
	lock, err := c.ObtainMulti(ctx, []string{"a", "b"}, time.Minute, nil) // want `LL3003: the lock from ObtainMulti is never released`
	if err != nil {
		return err
	}
	_ = lock.Key()
	return work()
}

// Fine.

func claim(ctx context.Context, rdb redislock.RedisClient) error {
	_, err := redislock.Obtain(ctx, rdb, "a", time.Minute, nil)
	return err
}

func released(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err == redislock.ErrNotObtained {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() {
		if err := lock.Release(ctx); err != nil {
			println(err.Error())
		}
	}()
	lock.Refresh(ctx, time.Minute, nil)
	return work()
}

func returned(ctx context.Context, c *redislock.Client) (*redislock.Lock, error) {
	return c.Obtain(ctx, "a", time.Minute, nil)
}

func sent(ctx context.Context, c *redislock.Client, ch chan *redislock.Lock) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	ch <- lock
	return nil
}

// The lock is gone where Refresh says so.
func goneBehindRefresh(ctx context.Context, client *redislock.Client) error {
	lock, err := client.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	for work() == nil {
		if err := lock.Refresh(ctx, time.Minute, nil); errors.Is(err, redislock.ErrNotObtained) {
			return err
		}
	}
	return lock.Release(context.Background())
}
