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
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

var rel = redis.NewScript("if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0")

func Tok() string { b := make([]byte, 8); rand.Read(b); return hex.EncodeToString(b) }

type Lock struct {
	rdb      *redis.Client
	key, val string
	ttl      time.Duration
}

func NewLock(c *redis.Client, k string) *Lock { return &Lock{c, k, Tok(), time.Second} }
func (l *Lock) Lock(ctx context.Context) error {
	ok, err := l.rdb.SetNX(ctx, l.key, l.val, l.ttl).Result()
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("busy")
	}
	return nil
}
func (l *Lock) Unlock(ctx context.Context) error {
	n, err := rel.Run(ctx, l.rdb, []string{l.key}, l.val).Int()
	if err != nil {
		return err
	}
	if n == 0 {
		return errors.New("lost")
	}
	return nil
}

type Locks struct{ Rdb *redis.Client }
