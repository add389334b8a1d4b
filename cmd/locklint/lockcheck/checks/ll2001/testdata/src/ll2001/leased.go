package ll2001

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A function that returns what releases takes a lock, whatever its key says, and whoever calls it has to ask whether it
// has got it.

const giveBack = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`

type seats struct{ rdb *redis.Client }

func (s *seats) take(ctx context.Context, key, token string) (func(), bool, error) {
	ok, err := s.rdb.SetNX(ctx, key, token, time.Minute).Result()
	if err != nil {
		return func() {}, false, err
	}
	if !ok {
		return func() {}, false, nil
	}
	giveBack := func() { s.rdb.Eval(context.WithoutCancel(ctx), giveBack, []string{key}, token) }
	return giveBack, true, nil
}

func (s *seats) takeOrNil(ctx context.Context, key, token string) (func(), bool, error) {
	ok, err := s.rdb.SetNX(ctx, key, token, time.Minute).Result()
	if err != nil || !ok {
		return nil, false, nil
	}
	return func() { s.rdb.Eval(context.WithoutCancel(ctx), giveBack, []string{key}, token) }, true, nil
}

func sit(ctx context.Context, s *seats, token string) {
	release, _, err := s.take(ctx, "seat:1", token) // want `LL2001: the outcome of SetNX \(through seats.take\) is ignored, only the error is looked at`
	if err != nil {
		return
	}
	defer release()
	dine()
}

func sitInsideAnother(ctx context.Context, s *seats, token string) error {
	release, _, err := reserve(ctx, s, token) // want `LL2001: the outcome of SetNX \(through reserve\) is ignored`
	if err == nil {
		defer release()
	}
	dine()
	return err
}

func reserve(ctx context.Context, s *seats, token string) (func(), bool, error) {
	return s.take(ctx, "seat:2", token)
}

func sitDownOrGo(ctx context.Context, s *seats, token string) {
	release, ok, err := s.take(ctx, "seat:1", token)
	if err != nil || !ok {
		return
	}
	defer release()
	dine()
}

func sitWithRelease(ctx context.Context, s *seats, token string) {
	release, _, err := s.takeOrNil(ctx, "seat:3", token)
	if err != nil || release == nil {
		return
	}
	defer release()
	dine()
}

func dine() {}
