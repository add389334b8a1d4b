package ll2008

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

var compareAndDelete = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

// Two functions take a lock with the same key, and one of them prolongs it: its own.

type twice struct{ rdb *redis.Client }

func (s *twice) once(ctx context.Context, id, token string, run func() error) error {
	ok, err := s.rdb.SetNX(ctx, "lock:"+id, token, time.Minute).Result()
	if err != nil || !ok {
		return err
	}
	defer compareAndDelete.Run(context.WithoutCancel(ctx), s.rdb, []string{"lock:" + id}, token)
	return run()
}

func (s *twice) renewing(ctx context.Context, id, token string, run func() error) error {
	key := "lock:" + id
	ok, err := s.rdb.SetNX(ctx, key, token, time.Minute).Result()
	if err != nil || !ok {
		return err
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		t := time.NewTicker(time.Second)
		for {
			select {
			case <-stop:
				return
			case <-t.C:
				s.rdb.Expire(ctx, key, time.Minute) // want `LL2008: Expire prolongs this lock without asking whose it is: if the SetNX at line 27 has expired meanwhile`
			}
		}
	}()
	defer compareAndDelete.Run(context.WithoutCancel(ctx), s.rdb, []string{key}, token)
	return run()
}
