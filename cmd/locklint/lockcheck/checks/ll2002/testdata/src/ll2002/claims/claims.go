// Package claims gives keys back in a function literal.
package claims

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

func work() error { return nil }

// A claim that is kept where the work succeeds is no lock.
func enqueue(ctx context.Context, rdb *redis.Client, id string) error {
	key := "lock:pending:" + id
	ok, err := rdb.SetNX(ctx, key, 1, time.Hour).Result()
	if err != nil || !ok {
		return err
	}
	rollback := func() {
		rdb.Del(ctx, key)
	}
	if err := work(); err != nil {
		rollback()
		return err
	}
	if err := work(); err != nil {
		rollback()
		return err
	}
	return nil
}

// One that is given back in any case is.
func section(ctx context.Context, rdb *redis.Client, id string) error {
	key := "lock:section:" + id
	ok, err := rdb.SetNX(ctx, key, 1, time.Hour).Result()
	if err != nil || !ok {
		return err
	}
	unlock := func() {
		rdb.Del(ctx, key) // want `LL2002: DEL releases this lock without asking whose it is`
	}
	if err := work(); err != nil {
		unlock()
		return err
	}
	unlock()
	return nil
}
