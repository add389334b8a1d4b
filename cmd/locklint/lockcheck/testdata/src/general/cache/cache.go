// Package cache wraps the client for all kinds of keys.
package cache

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

type Client struct{ rdb *redis.Client }

func (c *Client) SetIfAbsent(ctx context.Context, key string, value any, ttl time.Duration) (bool, error) {
	return c.rdb.SetNX(ctx, key, value, ttl).Result()
}

func (c *Client) Remove(ctx context.Context, keys ...string) error {
	return c.rdb.Del(ctx, keys...).Err()
}

func (c *Client) Get(ctx context.Context, key string) (string, error) {
	return c.rdb.Get(ctx, key).Result()
}

type Store interface {
	SetIfAbsent(ctx context.Context, key string, value any, ttl time.Duration) (bool, error)
	Remove(ctx context.Context, keys ...string) error
	Get(ctx context.Context, key string) (string, error)
}
