//matrix:setup l := s.locks.NewLock(id, time.Second)
//matrix:take ok, err := l.TryLock(ctx)
//matrix:refused err != nil || !ok
//matrix:error err
//matrix:release l.Unlock(ctx)

package lk

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
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

func (l *Lock) TryLock(ctx context.Context) (bool, error) {
	return l.rdb.SetNX(ctx, l.key, l.val, l.ttl).Result()
}
func (l *Lock) Unlock(ctx context.Context) error {
	return rel.Run(ctx, l.rdb, []string{l.key}, l.val).Err()
}

type Locks struct{ Rdb *redis.Client }

func (s *Locks) NewLock(k string, ttl time.Duration) *Lock {
	return &Lock{s.Rdb, fmt.Sprintf("lock:%s", k), Tok(), ttl}
}
