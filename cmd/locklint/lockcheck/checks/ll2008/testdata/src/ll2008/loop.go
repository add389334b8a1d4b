package ll2008

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A function that prolongs again and again is to blame itself, whoever starts it.

func lockAndKeep(ctx context.Context, rdb *redis.Client, key, token string) (unlock func(), ok bool) {
	if !rdb.SetNX(ctx, key, token, 3*time.Second).Val() {
		return nil, false
	}
	ctx, cancel := context.WithCancel(ctx)
	go keep(ctx, rdb, key)
	return func() {
		cancel()
		if rdb.Get(context.Background(), key).Val() == token {
			rdb.Del(context.Background(), key)
		}
	}, true
}

func keep(ctx context.Context, rdb *redis.Client, key string) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			rdb.Expire(ctx, key, 3*time.Second) // want `LL2008: Expire prolongs this lock without asking whose it is: if the SetNX at line 13`
		}
	}
}
