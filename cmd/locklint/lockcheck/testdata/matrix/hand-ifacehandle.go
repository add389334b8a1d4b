//matrix:take l, err := s.locks.Acquire(ctx, "lock:"+id, time.Second)
//matrix:refused err != nil
//matrix:error err
//matrix:release l.Release(ctx)

package lk

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

var rel = redis.NewScript("if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0")

func Tok() string { b := make([]byte, 8); rand.Read(b); return hex.EncodeToString(b) }

type Lock interface {
	Release(ctx context.Context) error
}
type Locker interface {
	Acquire(ctx context.Context, k string, ttl time.Duration) (Lock, error)
}
type rlock struct {
	rdb      redis.Cmdable
	key, val string
}

func (l *rlock) Release(ctx context.Context) error {
	return rel.Run(ctx, l.rdb.(*redis.Client), []string{l.key}, l.val).Err()
}

type rlocker struct{ rdb redis.Cmdable }

func New(c redis.Cmdable) Locker { return &rlocker{c} }
func (c *rlocker) Acquire(ctx context.Context, k string, ttl time.Duration) (Lock, error) {
	t := Tok()
	ok, err := c.rdb.SetNX(ctx, k, t, ttl).Result()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errors.New("busy")
	}
	return &rlock{c.rdb, k, t}, nil
}

type Locks struct{ Locker }
