package ll2002

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A helper that is there for one function is to blame itself.

func keepAlone(ctx context.Context, rdb *redis.Client, path, token string, work func()) bool {
	if !rdb.SetNX(ctx, path, token, time.Minute).Val() {
		return false
	}
	defer giveUp(ctx, rdb, path)
	work()
	return true
}

func giveUp(ctx context.Context, rdb *redis.Client, path string) {
	rdb.Del(ctx, path) // want `LL2002: DEL releases this lock without asking whose it is: if the SetNX at line 13`
}

// What protects from a replay is no lock.

type replayGuard struct{ rdb *redis.Client }

func (r replayGuard) Acquire(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	return r.rdb.SetNX(ctx, key, "1", ttl).Result()
}

func (r replayGuard) Release(ctx context.Context, key string) error { return r.rdb.Del(ctx, key).Err() }
