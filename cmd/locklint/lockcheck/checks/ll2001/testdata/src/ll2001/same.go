package ll2001

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Asking by GET who has got the lock is no excuse where everybody stores the same.

func tryWith(ctx context.Context, rdb *redis.Client, key, owner string) bool {
	rdb.SetNX(ctx, "lock:"+key, owner, time.Minute) // want `LL2001: the outcome of SetNX is ignored`
	got, err := rdb.Get(ctx, "lock:"+key).Result()
	return err == nil && got == owner
}

func endWith(ctx context.Context, rdb *redis.Client, key string) { rdb.Del(ctx, "lock:"+key) }

func imports(ctx context.Context, rdb *redis.Client) {
	if tryWith(ctx, rdb, "imports", "locked") {
		defer endWith(ctx, rdb, "imports")
	}
}

func exports(ctx context.Context, rdb *redis.Client) {
	if tryWith(ctx, rdb, "exports", "locked") {
		defer endWith(ctx, rdb, "exports")
	}
}

// Here they do not.

func tryAs(ctx context.Context, rdb *redis.Client, key, owner string) bool {
	rdb.SetNX(ctx, "mutex:"+key, owner, time.Minute)
	got, err := rdb.Get(ctx, "mutex:"+key).Result()
	return err == nil && got == owner
}

func endAs(ctx context.Context, rdb *redis.Client, key string) { rdb.Del(ctx, "mutex:"+key) }

func reports(ctx context.Context, rdb *redis.Client, token string) {
	if tryAs(ctx, rdb, "reports", token) {
		defer endAs(ctx, rdb, "reports")
	}
}
