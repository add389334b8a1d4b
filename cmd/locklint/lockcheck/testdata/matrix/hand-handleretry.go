//matrix:take l, err := s.locks.Acquire(ctx, id)
//matrix:refused err != nil
//matrix:error err
//matrix:release l.Unlock(ctx)

package lk

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var rel = redis.NewScript("if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0")

func Tok() string { b := make([]byte, 8); rand.Read(b); return hex.EncodeToString(b) }

type Lock struct {
	c        *Locks
	key, val string
}

func (l *Lock) Unlock(ctx context.Context) error { return l.c.release(ctx, l.key, l.val) }

type Locks struct{ rdb *redis.Client }

func (c *Locks) release(ctx context.Context, k, v string) error {
	return rel.Run(ctx, c.rdb, []string{k}, v).Err()
}
func (c *Locks) Acquire(ctx context.Context, k string) (*Lock, error) {
	t := Tok()
	key := fmt.Sprintf("lock:%s", k)
	for range 10 {
		ok, err := c.rdb.SetNX(ctx, key, t, time.Second).Result()
		if err != nil {
			return nil, err
		}
		if ok {
			return &Lock{c, key, t}, nil
		}
		time.Sleep(time.Millisecond)
	}
	return nil, errors.New("busy")
}
