package ll2002

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Several locks in a package may have keys of the same form. The nearest acquire is the one that is named.

type first struct{ rdb *redis.Client }

func (f *first) LockSeat(ctx context.Context, id string) bool {
	ok, _ := f.rdb.SetNX(ctx, "seat-lock:"+id, 1, time.Second).Result()
	return ok
}

func (f *first) UnlockSeat(ctx context.Context, id string) {
	f.rdb.Del(ctx, "seat-lock:"+id) // want `if the SetNX at line 15 has expired`
}

type second struct{ rdb *redis.Client }

func (s *second) LockSeat(ctx context.Context, id string) bool {
	ok, _ := s.rdb.SetNX(ctx, "seat-lock:"+id, 1, time.Second).Result()
	return ok
}

func (s *second) UnlockSeat(ctx context.Context, id string) {
	s.rdb.Del(ctx, "seat-lock:"+id) // want `if the SetNX at line 26 has expired`
}

// It counts, and gives up what it has counted: no lock of the others is released here.
func (s *second) countSeat(ctx context.Context, id string) {
	if n, _ := s.rdb.Incr(ctx, "seat-lock:"+id).Result(); n > 1 {
		return
	}
	s.rdb.Del(ctx, "seat-lock:"+id)
}

func (s *second) sellSeat(ctx context.Context, id string, sell func()) {
	if !s.rdb.SetNX(ctx, "seat-lock:"+id, 1, time.Second).Val() {
		return
	}
	sell()
	s.rdb.Del(ctx, "seat-lock:"+id) // want `if the SetNX at line 43 has expired`
}
