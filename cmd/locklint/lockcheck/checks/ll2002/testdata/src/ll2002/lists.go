package ll2002

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Keys in lists.

type cache struct{ rdb *redis.Client }

func (c *cache) TrySet(ctx context.Context, key, value string) (bool, error) {
	return c.rdb.SetNX(ctx, key, value, time.Minute).Result()
}

func (c *cache) Remove(ctx context.Context, keys ...string) error {
	return c.rdb.Del(ctx, keys...).Err()
}

func (c *cache) RemoveAll(ctx context.Context, keys []string) error {
	return c.Remove(ctx, keys...)
}

func throughList(ctx context.Context, c *cache, token string) error {
	ok, err := c.TrySet(ctx, "lock:lists", token)
	if err != nil || !ok {
		return err
	}
	defer c.Remove(ctx, "lock:lists") // want `LL2002: DEL \(through cache.Remove\) releases this lock without asking whose it is`
	return nil
}

func throughTwoLists(ctx context.Context, c *cache, token string) error {
	ok, err := c.TrySet(ctx, "lock:lists:2", token)
	if err != nil || !ok {
		return err
	}
	defer c.RemoveAll(ctx, []string{"stock", "lock:lists:2"}) // want `LL2002: DEL \(through cache.RemoveAll\) releases this lock`
	return nil
}

// All or nothing.
func several(ctx context.Context, rdb *redis.Client, keys []string, token string) error {
	for _, key := range keys {
		ok, err := rdb.SetNX(ctx, key, token, time.Minute).Result()
		if err != nil || !ok {
			return err
		}
		defer rdb.Del(ctx, key) // want `LL2002: DEL releases this lock without asking whose it is`
	}
	return nil
}

func severalAtOnce(ctx context.Context, rdb *redis.Client, ids []string, token string) error {
	for _, id := range ids {
		if ok, err := rdb.SetNX(ctx, "lock:"+id, token, time.Minute).Result(); err != nil || !ok {
			return err
		}
	}
	defer func() {
		for _, id := range ids {
			rdb.Del(ctx, "lock:"+id) // want `LL2002: DEL releases this lock without asking whose it is`
		}
	}()
	return nil
}

// Another element is another key.
func otherElement(ctx context.Context, rdb *redis.Client, keys []string, token string) error {
	if ok, err := rdb.SetNX(ctx, keys[0], token, time.Minute).Result(); err != nil || !ok {
		return err
	}
	return rdb.Del(ctx, keys[1]).Err()
}

// A release in a select.
func untilStopped(ctx context.Context, rdb *redis.Client, token string, tick, stop <-chan struct{}) error {
	ok, err := rdb.SetNX(ctx, "lock:select", token, time.Minute).Result()
	if err != nil || !ok {
		return err
	}
	for {
		select {
		case <-tick:
		case <-stop:
			return rdb.Del(ctx, "lock:select").Err() // want `LL2002: DEL releases this lock without asking whose it is`
		}
	}
}
