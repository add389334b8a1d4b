package ll2006

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	dropOwn = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`
	keepOwn = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`
)

type micro struct {
	c     *redis.Client
	key   string
	token string
	ttl   time.Duration
}

func (m *micro) TryLock(ctx context.Context) (bool, error) {
	return m.c.SetNX(ctx, m.key, m.token, m.ttl).Result()
}

func (m *micro) Unlock(ctx context.Context) error {
	return m.c.Eval(ctx, dropOwn, []string{m.key}, m.token).Err()
}

func (m *micro) Renew(ctx context.Context) error {
	return m.c.Eval(ctx, keepOwn, []string{m.key}, m.token, m.ttl.Microseconds()).Err() // want `LL2006: EVAL of this lock: it takes a number of milliseconds and is given a smaller unit`
}

func (m *micro) Extend(ctx context.Context) error {
	return m.c.Eval(ctx, keepOwn, []string{m.key}, m.token, m.ttl.Milliseconds()).Err()
}

func (m *micro) Prolong(ctx context.Context) error {
	return m.c.Eval(ctx, keepOwn, []string{m.key}, m.token, int64(m.ttl/time.Microsecond)).Err() // want `LL2006: EVAL .*`
}
