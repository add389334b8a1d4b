package ll2001

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A function that returns only with the lock need not be asked.

type spinning struct{ rdb *redis.Client }

func (s *spinning) Lock(ctx context.Context, key string) bool {
	for {
		if ok := s.rdb.SetNX(ctx, key, "lock", time.Second).Val(); ok {
			return ok
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (s *spinning) LockSoon(ctx context.Context, key string) bool {
	for range 10 {
		if ok := s.rdb.SetNX(ctx, key, "lock", time.Second).Val(); ok {
			return ok
		}
		time.Sleep(2 * time.Millisecond)
	}
	return false
}

func (s *spinning) Unlock(ctx context.Context, key string) { s.rdb.Del(ctx, key) }

func spins(ctx context.Context, s *spinning, work func()) {
	s.Lock(ctx, "lock:spin")
	defer s.Unlock(ctx, "lock:spin")
	work()
}

func spinsSoon(ctx context.Context, s *spinning, work func()) {
	s.LockSoon(ctx, "lock:soon") // want `LL2001: the outcome of SetNX \(through spinning.LockSoon\) is ignored`
	defer s.Unlock(ctx, "lock:soon")
	work()
}
