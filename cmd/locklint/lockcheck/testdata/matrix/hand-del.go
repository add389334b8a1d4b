//matrix:take ok, err := s.locks.Lock(ctx, "lock:"+id)
//matrix:refused err != nil || !ok
//matrix:error err
//matrix:release s.locks.Unlock(ctx, "lock:"+id)

package lk

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

type Locks struct{ rdb *redis.Client }

func (s *Locks) Lock(ctx context.Context, k string) (bool, error) {
	return s.rdb.SetNX(ctx, k, 1, time.Second).Result()
}
func (s *Locks) Unlock(ctx context.Context, k string) error { return s.rdb.Del(ctx, k).Err() }
