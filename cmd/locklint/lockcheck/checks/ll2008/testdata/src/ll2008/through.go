package ll2008

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A wrapper for all kinds of keys is not to blame for what one of its callers does with it.

type kv struct{ rdb *redis.Client }

func (c *kv) Put(ctx context.Context, key, value string) (bool, error) {
	return c.rdb.SetNX(ctx, key, value, time.Minute).Result()
}

func (c *kv) Touch(ctx context.Context, key string) error {
	return c.rdb.Expire(ctx, key, time.Minute).Err()
}

func lead(ctx context.Context, c *kv, token string) (bool, error) {
	return c.Put(ctx, "lock:through", token)
}

func renewLead(ctx context.Context, c *kv) error {
	return c.Touch(ctx, "lock:through") // want `LL2008: Expire \(through kv.Touch\) prolongs this lock without asking whose it is: if the SetNX at line 23`
}
