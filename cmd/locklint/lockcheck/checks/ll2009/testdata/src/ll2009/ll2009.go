package ll2009

import (
	"context"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
)

func takeOver(ctx context.Context, rdb *goredis.Client, ttl time.Duration) bool {
	expires := time.Now().Add(ttl).UnixMilli()
	if rdb.SetNX(ctx, "lock:a", expires, 0).Val() {
		return true
	}
	old, _ := rdb.Get(ctx, "lock:a").Int64()
	if old < time.Now().UnixMilli() {
		last, _ := rdb.GetSet(ctx, "lock:a", expires).Int64() // want `LL2009: GetSet takes over the lock of the SetNX at line 14 by the time in its value`
		return last == old
	}
	return false
}

// Through methods of one type.

type clocked struct{ rdb *goredis.Client }

func (c *clocked) set(ctx context.Context, key string, ttl time.Duration) bool {
	return c.rdb.SetNX(ctx, key, strconv.FormatInt(time.Now().Add(ttl).Unix(), 10), 0).Val()
}

func (c *clocked) steal(ctx context.Context, key string, ttl time.Duration) string {
	return c.rdb.GetSet(ctx, key, strconv.FormatInt(time.Now().Add(ttl).Unix(), 10)).Val() // want `LL2009: GetSet takes over the lock`
}

func redigoTakeOver(c redis.Conn, seconds int64) bool {
	expires := time.Now().Unix() + seconds
	if n, _ := redis.Int(c.Do("SETNX", "lock:r", expires)); n == 1 {
		return true
	}
	old, _ := redis.Int64(c.Do("GET", "lock:r"))
	if old < time.Now().Unix() {
		last, _ := redis.Int64(c.Do("GETSET", "lock:r", expires)) // want `LL2009: GETSET takes over the lock`
		return last == old
	}
	return false
}

// No locks: a value that is read and replaced, a counter that is read and reset.

func replace(ctx context.Context, rdb *goredis.Client, v string) string {
	rdb.SetNX(ctx, "config", v, 0)
	return rdb.GetSet(ctx, "config", v).Val()
}

func reset(ctx context.Context, rdb *goredis.Client) (int64, error) {
	return rdb.GetSet(ctx, "visits", 0).Int64()
}

func otherKey(ctx context.Context, rdb *goredis.Client) string {
	now := time.Now().Unix()
	if rdb.SetNX(ctx, "started", now, 0).Val() {
		return ""
	}
	return rdb.GetSet(ctx, "last-seen", now).Val()
}
