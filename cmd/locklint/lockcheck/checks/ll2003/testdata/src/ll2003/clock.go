package ll2003

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// A token that is the time, in a field, and compared.

type clocked struct {
	rdb        *redis.Client
	key, token string
}

func (c *clocked) Lock(ctx context.Context) bool {
	c.token = fmt.Sprintf("%d", time.Now().UnixMilli())
	return c.rdb.SetNX(ctx, c.key, c.token, time.Minute).Val() // want `LL2003: the token that SetNX stores is the time in milliseconds`
}

func (c *clocked) Unlock(ctx context.Context) error {
	return c.rdb.Eval(ctx, release, []string{c.key}, c.token).Err()
}

// Nanoseconds are as good as different.

type finer struct {
	rdb        *redis.Client
	key, token string
}

func (f *finer) Lock(ctx context.Context) bool {
	f.token = fmt.Sprint(time.Now().UnixNano())
	return f.rdb.SetNX(ctx, f.key, f.token, time.Minute).Val()
}

func (f *finer) Unlock(ctx context.Context) error {
	return f.rdb.Eval(ctx, release, []string{f.key}, f.token).Err()
}
