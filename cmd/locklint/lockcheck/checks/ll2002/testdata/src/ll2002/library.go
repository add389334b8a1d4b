package ll2002

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// The key of a library's lock is deleted by hand, beside the library's release, which compares.

const lockPrefix = "_locker_"

type locker struct{ client *redis.Client }

func (l *locker) wait(ctx context.Context, resource string) (func(context.Context) error, error) {
	lock, err := redislock.New(l.client).Obtain(ctx, lockPrefix+resource, time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		err := lock.Release(context.Background())
		if errors.Is(err, redislock.ErrLockNotHeld) {
			return nil
		}
		if err != nil {
			l.client.Del(context.Background(), lockPrefix+resource) // want `LL2002: DEL deletes the key of the lock that .*Obtain at line \d+ obtains`
		}
		return err
	}, nil
}

func both(ctx context.Context, c *redislock.Client, rdb *redis.Client, key string) error {
	lock, err := c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return err
	}
	defer rdb.Del(ctx, key) // want `LL2002: DEL deletes the key of the lock`
	return lock.Refresh(ctx, time.Minute, nil)
}

// Another key, or another time.

func cached(ctx context.Context, c *redislock.Client, rdb *redis.Client, key string) error {
	lock, err := c.Obtain(ctx, "lock:"+key, time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(ctx)
	return rdb.Del(ctx, key).Err()
}

func afresh(ctx context.Context, c *redislock.Client, rdb *redis.Client, key string) error {
	rdb.Del(ctx, key)
	lock, err := c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return err
	}
	return lock.Release(ctx)
}

func forceLock(ctx context.Context, c *redislock.Client, rdb *redis.Client, key string) error {
	lock, err := c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		rdb.Del(ctx, key)
		return err
	}
	return lock.Release(ctx)
}

// The lock itself says what its key is.

func ofLock(ctx context.Context, c *redislock.Client, rdb *redis.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer rdb.Del(ctx, lock.Key()) // want `LL2002: DEL deletes the key of the lock`
	return lock.Refresh(ctx, time.Minute, nil)
}

func ofCapturedLock(ctx context.Context, c *redislock.Client, rdb *redis.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer func() {
		if lock.Release(ctx) != nil {
			key := lock.Key()
			rdb.Del(ctx, "b", key) // want `LL2002: DEL deletes the key of the lock`
		}
	}()
	return lock.Refresh(ctx, time.Minute, nil)
}

func ofItsData(ctx context.Context, c *redislock.Client, rdb *redis.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(ctx)
	return rdb.Del(ctx, lock.Key()+":data").Err()
}

// Whose lock it is that a function is given, its caller knows.
func ofOther(ctx context.Context, c *redislock.Client, rdb *redis.Client, other *redislock.Lock) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(ctx)
	return rdb.Del(ctx, other.Key()).Err()
}
