package ll2009

import (
	"context"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// GETSET without a SETNX before it.

func acquireLock(ctx context.Context, rdb *goredis.Client, name string, ttl time.Duration) bool {
	old, err := rdb.GetSet(ctx, name, time.Now().Add(ttl).Unix()).Int64() // want `LL2009: GetSet takes the lock by the time in its value`
	return err != nil || old < time.Now().Unix()
}

func lastSeen(ctx context.Context, rdb *goredis.Client, name string) (int64, error) {
	return rdb.GetSet(ctx, name, time.Now().Unix()).Int64()
}
