// Package redislock has just as much of bsm/redislock as the tests call. It is loaded, never run.
package redislock

import (
	"context"
	"errors"
	"time"
)

type (
	RedisClient interface{}
	Client      struct{}
	Lock        struct{ *Client }
	Options     struct{ Metadata, Token string }
)

var (
	ErrNotObtained = errors.New("not obtained")
	ErrLockNotHeld = errors.New("not held")
)

func New(client RedisClient) *Client { return nil }

func (*Client) Obtain(ctx context.Context, key string, ttl time.Duration, opt *Options) (*Lock, error) {
	return nil, nil
}

func (*Client) ObtainMulti(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (*Lock, error) {
	return nil, nil
}

func Obtain(ctx context.Context, client RedisClient, key string, ttl time.Duration, opt *Options) (*Lock, error) {
	return nil, nil
}

func (*Lock) Key() string                                                        { return "" }
func (*Lock) TTL(ctx context.Context) (time.Duration, error)                     { return 0, nil }
func (*Lock) Refresh(ctx context.Context, ttl time.Duration, opt *Options) error { return nil }
func (*Lock) Release(ctx context.Context) error                                  { return nil }
