package ll2003

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// MustLock belongs to Unlock as Lock does.

type must struct {
	rdb *redis.Client
	key string
}

func (m must) MustLock(ctx context.Context) error {
	for range 400 {
		ok, err := m.rdb.SetNX(ctx, m.key, 1, time.Minute).Result() // want `LL2003: the token that SetNX stores is the constant "1"`
		if ok || err != nil {
			return err
		}
		time.Sleep(25 * time.Millisecond)
	}
	return context.DeadlineExceeded
}

func (m must) Unlock(ctx context.Context) { m.rdb.Del(ctx, m.key) }
