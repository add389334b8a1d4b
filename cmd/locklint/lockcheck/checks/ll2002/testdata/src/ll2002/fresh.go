package ll2002

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// A key that nobody else can have is no lock, whoever deletes it: a temporary key, or an entry in a registry.

func temporary(ctx context.Context, rdb *redis.Client, work func() error) error {
	key := "run:" + rand.Text()
	if ok, err := rdb.SetNX(ctx, key, "x", time.Minute).Result(); err != nil || !ok {
		return err
	}
	defer rdb.Del(ctx, key)
	return work()
}

func registered(ctx context.Context, rdb *redis.Client, addr string, tick <-chan time.Time) error {
	key := fmt.Sprintf("lock:instances:%s", rand.Text())
	if ok, err := rdb.SetNX(ctx, key, addr, time.Minute).Result(); err != nil || !ok {
		return err
	}
	defer rdb.Del(ctx, key)
	for range tick {
		if err := rdb.Expire(ctx, key, time.Minute).Err(); err != nil {
			return err
		}
	}
	return nil
}

// A token that has just been made makes no key of it.

func token(ctx context.Context, rdb *redis.Client, id string, work func() error) error {
	key, token := "run:"+id, rand.Text()
	if ok, err := rdb.SetNX(ctx, key, token, time.Minute).Result(); err != nil || !ok {
		return err
	}
	defer rdb.Del(ctx, key) // want `LL2002`
	return work()
}
