// Package kv hides clients behind interfaces.
package kv

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

type Store interface {
	SetNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error)
	Del(ctx context.Context, key string) error
}

type store struct{ rdb *redis.Client }

func New(rdb *redis.Client) Store { return store{rdb} }

func (s store) SetNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error) {
	return s.rdb.SetNX(ctx, key, value, ttl).Result()
}

func (s store) Del(ctx context.Context, key string) error { return s.rdb.Del(ctx, key).Err() }

// A Strict refuses with an error.
type Strict interface {
	SetNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error)
	Del(ctx context.Context, key string) error
	Close() error
}

type strict struct{ rdb *redis.Client }

func NewStrict(rdb *redis.Client) Strict { return &strict{rdb} }

var ErrTaken = errors.New("taken")

func (s *strict) SetNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error) {
	ok, err := s.rdb.SetNX(ctx, key, value, ttl).Result()
	if err != nil {
		return false, err
	}
	if !ok {
		return false, ErrTaken
	}
	return true, nil
}

func (s *strict) Del(ctx context.Context, key string) error { return s.rdb.Del(ctx, key).Err() }

func (s *strict) Close() error { return nil }
