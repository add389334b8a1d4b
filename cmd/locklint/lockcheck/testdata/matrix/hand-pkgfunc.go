//matrix:take t, err := lk.Acquire(ctx, s.locks.Rdb, "lock:"+id, time.Second)
//matrix:refused err != nil
//matrix:error err
//matrix:release lk.Release(ctx, s.locks.Rdb, "lock:"+id, t)

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

type Locks struct{ Rdb *redis.Client }

func Acquire(ctx context.Context, c *redis.Client, k string, ttl time.Duration) (string, error) {
	t := Tok()
	ok, err := c.SetNX(ctx, k, t, ttl).Result()
	if err != nil {
		return "", err
	}
	if !ok {
		return "", ErrBusy
	}
	return t, nil
}

var ErrBusy = errors.New("busy")

func Release(ctx context.Context, c *redis.Client, k, t string) error {
	return rel.Run(ctx, c, []string{k}, t).Err()
}
