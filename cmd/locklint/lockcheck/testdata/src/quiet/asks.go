package quiet

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// A renewal in front of which a helper has asked whose the lock is.

type session struct {
	rdb        *redis.Client
	key, token string
}

func (s *session) Lock(ctx context.Context) (bool, error) {
	return s.rdb.SetNX(ctx, s.key, s.token, time.Minute).Result()
}

func (s *session) Unlock(ctx context.Context) error {
	return s.rdb.Eval(ctx, compareAndDelete, []string{s.key}, s.token).Err()
}

func (s *session) mine(ctx context.Context) (bool, error) {
	owner, err := s.rdb.Get(ctx, s.key).Result()
	if err != nil {
		return false, err
	}
	return owner == s.token, nil
}

var errNotOwner = errors.New("not the owner")

func (s *session) check(ctx context.Context) error {
	owner, err := s.rdb.Get(ctx, s.key).Result()
	if err != nil {
		return err
	}
	if owner != s.token {
		return errNotOwner
	}
	return nil
}

func (s *session) Renew(ctx context.Context) error {
	mine, err := s.mine(ctx)
	if err != nil {
		return err
	}
	if !mine {
		return errNotOwner
	}
	return s.rdb.Expire(ctx, s.key, time.Minute).Err()
}

func (s *session) Extend(ctx context.Context) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	return s.rdb.Expire(ctx, s.key, time.Minute).Err()
}

// Something is there, but whose is it?
func (s *session) taken(ctx context.Context) bool {
	return s.rdb.Get(ctx, s.key).Err() == nil
}

func (s *session) Refresh(ctx context.Context) error {
	if !s.taken(ctx) {
		return errNotOwner
	}
	return s.rdb.Expire(ctx, s.key, time.Minute).Err() // want `LL2008: Expire prolongs this lock without asking whose it is`
}
