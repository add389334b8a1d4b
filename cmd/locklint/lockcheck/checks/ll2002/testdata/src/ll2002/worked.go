package ll2002

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// The error that is returned behind a release is that of the work: the lock is released whatever the outcome.

func workedThere(ctx context.Context, rdb *redis.Client, work func() error) error {
	if ok, err := rdb.SetNX(ctx, "lock:worked", 1, time.Minute).Result(); err != nil || !ok {
		return err
	}
	err := work()
	rdb.Del(ctx, "lock:worked") // want `LL2002: .* releases this lock without asking whose it is`
	return err
}

// A claim that is given back where the work has failed.
func claimed(ctx context.Context, rdb *redis.Client, work func() error) error {
	if ok, err := rdb.SetNX(ctx, "lock:claimed", 1, time.Minute).Result(); err != nil || !ok {
		return err
	}
	err := work()
	if err != nil {
		rdb.Del(ctx, "lock:claimed")
		return err
	}
	return nil
}
