//matrix:take l, err := s.locks.Acquire(ctx, "lock:"+id)
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

type Lock struct {
	rdb      *redis.Client
	key, val string
}

func (l *Lock) Release(ctx context.Context) error {
	return rel.Run(ctx, l.rdb, []string{l.key}, l.val).Err()
}

type Locks struct{ rdb *redis.Client }

func (c *Locks) Acquire(ctx context.Context, k string) (*Lock, error) {
	t := Tok()
	ok, err := c.rdb.SetNX(ctx, k, t, time.Second).Result()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errors.New("busy")
	}
	return &Lock{c.rdb, k, t}, nil
}
