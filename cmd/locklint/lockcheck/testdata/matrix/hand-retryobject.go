//matrix:setup l := lk.NewLock(s.locks.Rdb, "lock:"+id)
//matrix:take err := l.Lock(ctx)
//matrix:refused err != nil
//matrix:error err
//matrix:release l.Unlock(ctx)

package lk

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/redis/go-redis/v9"
)

var rel = redis.NewScript("if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0")

func Tok() string { b := make([]byte, 8); rand.Read(b); return hex.EncodeToString(b) }

type Lock struct {
	rdb      *redis.Client
	key, val string
}

func NewLock(c *redis.Client, k string) *Lock { return &Lock{c, k, Tok()} }

func (l *Lock) Lock(ctx context.Context) error {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		ok, err := l.rdb.SetNX(ctx, l.key, l.val, time.Minute).Result()
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
}

func (l *Lock) Unlock(ctx context.Context) error {
	return rel.Run(ctx, l.rdb, []string{l.key}, l.val).Err()
}

type Locks struct{ Rdb *redis.Client }
