package v8

import (
	"context"
	"time"

	"github.com/go-redis/redis/v8"
)

func run(ctx context.Context, rdb *redis.Client, work func()) error {
	if err := rdb.SetNX(ctx, "lock:run", 1, time.Minute).Err(); err != nil { // want `LL2001: the outcome of SetNX is ignored`
		return err
	}
	defer rdb.Del(ctx, "lock:run")
	work()
	return nil
}

func once(ctx context.Context, rdb *redis.Client) bool {
	return rdb.SetNX(ctx, "seen", 1, time.Minute).Val()
}
