package ll2002

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A DEL before the acquire.

func clearsFirst(ctx context.Context, rdb *redis.Client, token string) error {
	rdb.Del(ctx, "lock:first") // want `LL2002: DEL runs before SetNX \(line 14\) has got the lock: it deletes the lock of whoever has it`
	if ok, err := rdb.SetNX(ctx, "lock:first", token, time.Minute).Result(); err != nil || !ok {
		return err
	}
	defer rdb.Del(ctx, "lock:first") // want `LL2002: DEL releases this lock without asking whose it is`
	absentWork()
	return nil
}

func clearsIfDead(ctx context.Context, rdb *redis.Client, token string, ttl time.Duration) error {
	if ttl < 0 {
		rdb.Del(ctx, "lock:dead")
	}
	if ok, err := rdb.SetNX(ctx, "lock:dead", token, time.Minute).Result(); err != nil || !ok {
		return err
	}
	defer rdb.Del(ctx, "lock:dead") // want `LL2002: DEL releases this lock without asking whose it is`
	absentWork()
	return nil
}

func takeOver(ctx context.Context, rdb *redis.Client, token string) error {
	rdb.Del(ctx, "lock:over")
	if ok, err := rdb.SetNX(ctx, "lock:over", token, time.Minute).Result(); err != nil || !ok {
		return err
	}
	defer rdb.Del(ctx, "lock:over") // want `LL2002: DEL releases this lock without asking whose it is`
	absentWork()
	return nil
}

func readsFirst(ctx context.Context, rdb *redis.Client, token string) error {
	if rdb.Get(ctx, "lock:read").Val() != token {
		return nil
	}
	rdb.Del(ctx, "lock:read")
	if ok, err := rdb.SetNX(ctx, "lock:read", token, time.Minute).Result(); err != nil || !ok {
		return err
	}
	absentWork()
	return nil
}
