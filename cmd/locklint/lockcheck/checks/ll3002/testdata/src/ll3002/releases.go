package ll3002

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A function that says whether it has the lock, and hands out what releases it: nil without the lock.

const giveBack = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`

type seats struct{ rdb *redis.Client }

func (s *seats) take(ctx context.Context, key, token string) (release func(), got bool, err error) {
	ok, err := s.rdb.SetNX(ctx, "lock:"+key, token, time.Minute).Result()
	if err != nil || !ok {
		return nil, false, err
	}
	return func() { s.rdb.Eval(context.WithoutCancel(ctx), giveBack, []string{"lock:" + key}, token) }, true, nil
}

func asksRelease(ctx context.Context, s *seats, token string) error {
	release, _, err := s.take(ctx, "1", token)
	if err != nil {
		return err
	}
	if release == nil {
		return nil
	}
	defer release()
	return work()
}

func asksBoth(ctx context.Context, s *seats, token string) error {
	release, _, err := s.take(ctx, "2", token)
	if err != nil || release == nil {
		return err
	}
	defer release()
	return work()
}

func asksNothing(ctx context.Context, s *seats, token string) error {
	release, _, err := s.take(ctx, "3", token) // want `LL3002: the outcome of s.take is ignored`
	if err != nil {
		return err
	}
	defer release()
	return work()
}

func asksInVain(ctx context.Context, s *seats, token string) error {
	release, _, err := s.take(ctx, "4", token) // want `LL3002: when s.take fails, the code goes on without the lock: work at line`
	if err != nil {
		return err
	}
	if release != nil {
		defer release()
	}
	return work()
}
