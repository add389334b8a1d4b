// Package idempotency has the locks of requests that are to be done once.
package idempotency

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	idempotencyResultPrefix = "idempotency:result:"
	idempotencyLockPrefix   = "idempotency:lock:"
)

type idempotencyStore struct{ rdb *redis.Client }

// The lock of a request beside the key of its result.
func (s *idempotencyStore) once(ctx context.Context, id string, handle func() string) (string, error) {
	if said, err := s.rdb.Get(ctx, idempotencyResultPrefix+id).Result(); err == nil {
		return said, nil
	}
	lock := idempotencyLockPrefix + id
	locked, err := s.rdb.SetNX(ctx, lock, "1", 30*time.Second).Result()
	if err != nil || !locked {
		return "in progress", err
	}
	defer s.rdb.Del(ctx, lock) // want `LL2002: DEL releases this lock without asking whose it is`
	said := handle()
	return said, s.rdb.Set(ctx, idempotencyResultPrefix+id, said, time.Hour).Err()
}

// A mark that says what was done.
func (s *idempotencyStore) mark(ctx context.Context, id string, handle func() error) error {
	fresh, err := s.rdb.SetNX(ctx, "idempotency:"+id, "1", time.Hour).Result()
	if err != nil || !fresh {
		return err
	}
	if err := handle(); err != nil {
		s.rdb.Del(ctx, "idempotency:"+id)
		return err
	}
	return nil
}
