package ll2002

import (
	"context"
	"time"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
)

// Shapes that programs give their locks.

func inBackground(ctx context.Context, rdb *goredis.Client, id string, work func()) {
	key := "refresh:" + id
	ok, err := rdb.SetNX(ctx, key, "1", time.Minute).Result()
	if err != nil || !ok {
		return
	}
	go func() {
		defer rdb.Del(context.Background(), key) // want `LL2002: DEL releases this lock`
		work()
	}()
}

func returnsRelease(ctx context.Context, rdb *goredis.Client, name string) (func(), bool) {
	key := "busy:" + name
	if !rdb.SetNX(ctx, key, "1", time.Minute).Val() {
		return nil, false
	}
	return func() {
		rdb.Del(ctx, key) // want `LL2002: DEL releases this lock`
	}, true
}

func spins(ctx context.Context, rdb *goredis.Client, work func()) {
	for !rdb.SetNX(ctx, "stock", 1, 20*time.Second).Val() {
		time.Sleep(20 * time.Millisecond)
	}
	defer rdb.Del(ctx, "stock") // want `LL2002: DEL releases this lock`
	work()
}

type client struct{ *goredis.Client }

func (c *client) rebuild(ctx context.Context, work func()) {
	if ok, _ := c.SetNX(ctx, "rebuild", 1, time.Minute).Result(); ok {
		work()
		c.Del(ctx, "rebuild") // want `LL2002: DEL releases this lock`
	}
}

type conn struct{ redis.Conn }

func Lock(key string, seconds int, c *conn) bool {
	n, err := redis.Int(c.Do("SETNX", key, 1))
	if err != nil || n != 1 {
		return false
	}
	c.Do("EXPIRE", key, seconds)
	return true
}

func UnLock(key string, c *conn) {
	c.Do("DEL", key) // want `LL2002: DEL releases this lock`
}

// A store with one method for each command: no lock by itself.

type store struct{ pool *redis.Pool }

func (s *store) do(cmd string, args ...interface{}) (interface{}, error) {
	c := s.pool.Get()
	defer c.Close()
	return c.Do(cmd, args...)
}

func (s *store) Setnx(key, value string) (int, error) { return redis.Int(s.do("SETNX", key, value)) }

func (s *store) Delete(key string) { s.do("DEL", key) }

// A claim that is given back for another try.

type claims struct{ rdb *goredis.Client }

func claimKey(key string) string { return "notify:" + key }

func (c *claims) Claim(ctx context.Context, key string) (bool, error) {
	return c.rdb.SetNX(ctx, claimKey(key), 1, time.Hour).Result()
}

func (c *claims) Release(ctx context.Context, key string) error {
	return c.rdb.Del(ctx, claimKey(key)).Err()
}
