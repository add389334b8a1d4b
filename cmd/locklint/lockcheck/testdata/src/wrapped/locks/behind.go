package locks

import (
	"context"
	"time"

	"github.com/bsm/redislock"
)

// A Held is a lock of redislock that was got through a Cache.
type Held struct{ inner *redislock.Lock }

func (h *Held) Release(ctx context.Context) error { return h.inner.Release(ctx) }

func take(ctx context.Context, client *redislock.Client, key string) (*Held, bool, error) {
	inner, err := client.Obtain(ctx, key, time.Minute, nil)
	if err == redislock.ErrNotObtained {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return &Held{inner: inner}, true, nil
}

// A Cache hides what it is made of.
type Cache interface {
	TakeLock(ctx context.Context, key string) (*Held, bool, error)
	Get(key string) string
}

type cache struct{ client *redislock.Client }

func NewCache(client *redislock.Client) Cache { return &cache{client} }

func (c *cache) TakeLock(ctx context.Context, key string) (*Held, bool, error) {
	held, ok, err := take(ctx, c.client, key)
	if err != nil {
		return nil, false, err
	}
	return held, ok, nil
}

func (c *cache) Get(key string) string { return key }
