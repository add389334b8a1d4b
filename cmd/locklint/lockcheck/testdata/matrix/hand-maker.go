//matrix:setup l := s.locks.NewLock("lock:"+id, time.Second)
//matrix:take ok, err := l.TryLock(ctx)
//matrix:refused err != nil || !ok
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

type Lock interface {
	TryLock(ctx context.Context) (bool, error)
	Unlock(ctx context.Context) error
}

type Factory interface {
	NewLock(key string, ttl time.Duration) Lock
}

type lock struct {
	rdb        redis.Cmdable
	key, token string
	ttl        time.Duration
}

func (l *lock) TryLock(ctx context.Context) (bool, error) {
	return l.rdb.SetNX(ctx, l.key, l.token, l.ttl).Result()
}

func (l *lock) Unlock(ctx context.Context) error {
	return rel.Run(ctx, l.rdb, []string{l.key}, l.token).Err()
}

type factory struct{ rdb redis.Cmdable }

func New(rdb redis.Cmdable) Factory { return &factory{rdb} }

func (f *factory) NewLock(key string, ttl time.Duration) Lock { return &lock{f.rdb, key, Tok(), ttl} }

type Locks struct{ Factory }
