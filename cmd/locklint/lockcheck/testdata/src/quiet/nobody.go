package quiet

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// SETNX whose outcome reaches nobody decides nothing: it gives a counter its expiry, or leaves a note.

type counter struct{ rdb *redis.Client }

func (c *counter) add(ctx context.Context, user string) error {
	key := "requests:" + user
	pipe := c.rdb.TxPipeline()
	pipe.SetNX(ctx, key, 0, time.Minute)
	pipe.Incr(ctx, key)
	_, err := pipe.Exec(ctx)
	return err
}

func (c *counter) clearUp(ctx context.Context, user string) error {
	return c.rdb.Del(ctx, "requests:"+user).Err()
}

func (c *counter) addAndClear(ctx context.Context, user string) error {
	key := "requests:" + user
	pipe := c.rdb.Pipeline()
	pipe.SetNX(ctx, key, 0, time.Minute)
	pipe.Incr(ctx, key)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return c.forget(ctx, key)
}

func (c *counter) forget(ctx context.Context, key string) error { return c.rdb.Del(ctx, key).Err() }

// running is a note for people.
func (c *counter) running(ctx context.Context, job string) error {
	c.rdb.SetNX(ctx, "job:running:"+job, "yes", time.Hour)
	defer c.forget(ctx, "job:running:"+job)
	return work()
}
