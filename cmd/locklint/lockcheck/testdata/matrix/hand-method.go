//matrix:take unlock, err := s.locks.Acquire(ctx, id)
//matrix:refused err != nil
//matrix:error err
//matrix:release unlock(ctx)

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

type Locks struct{ rdb *redis.Client }
type lock struct {
	rdb  *redis.Client
	k, t string
}

func (l *lock) Release(ctx context.Context) error {
	return rel.Run(ctx, l.rdb, []string{l.k}, l.t).Err()
}
func (s *Locks) Acquire(ctx context.Context, k string) (func(context.Context) error, error) {
	t := Tok()
	ok, err := s.rdb.SetNX(ctx, "lock:"+k, t, time.Second).Result()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errors.New("busy")
	}
	l := &lock{s.rdb, "lock:" + k, t}
	return l.Release, nil
}
