//matrix:setup t := lk.Tok()
//matrix:take ok, err := s.locks.Acquire(ctx, "lock:"+id, t, time.Second)
//matrix:refused err != nil || !ok
//matrix:error err
//matrix:release s.locks.Release(ctx, "lock:"+id, t)

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

type Locker interface {
	Acquire(ctx context.Context, k, t string, d time.Duration) (bool, error)
	Release(ctx context.Context, k, t string) error
}
type rl struct{ rdb redis.UniversalClient }

func (s *rl) Acquire(ctx context.Context, k, t string, d time.Duration) (bool, error) {
	return s.rdb.SetNX(ctx, k, t, d).Result()
}
func (s *rl) Release(ctx context.Context, k, t string) error {
	return rel.Run(ctx, s.rdb, []string{k}, t).Err()
}
func NewLocker(c redis.UniversalClient) Locker { return &rl{c} }

type Locks struct{ Locker }
