package general

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

var errBusy = errors.New("busy")

type Seats struct{ rdb *redis.Client }

// The keys of a list that another function deletes.

func (s *Seats) LockAll(ctx context.Context, ids []string) ([]string, error) {
	var got []string
	for _, id := range ids {
		key := "seat:lock:" + id
		ok, err := s.rdb.SetNX(ctx, key, "1", time.Minute).Result() // want `LL2003: the token that SetNX stores`
		if err != nil || !ok {
			s.UnlockAll(ctx, got)
			return nil, errBusy
		}
		got = append(got, key)
	}
	return got, nil
}

func (s *Seats) UnlockAll(ctx context.Context, keys []string) {
	if len(keys) > 0 {
		s.rdb.Del(ctx, keys...) // want `LL2002: DEL releases this lock`
	}
}

// The keys of a list that is made first. It has only what was acquired, so nothing is deleted that was not.

func (s *Seats) reserve(ctx context.Context, ids []string, work func() error) error {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = "lock:row:" + id
	}
	for _, key := range keys {
		if !s.rdb.SetNX(ctx, key, "1", time.Minute).Val() { // want `LL2003: the token that SetNX stores`
			return errBusy
		}
	}
	defer s.rdb.Del(ctx, keys...) // want `LL2002: DEL releases this lock`
	return work()
}

func (s *Seats) reserveSome(ctx context.Context, ids []string, work func() error) error {
	held := map[string]bool{}
	defer func() {
		for key := range held {
			s.rdb.Del(ctx, key) // want `LL2002: DEL releases this lock`
		}
	}()
	for _, id := range ids {
		key := "lock:col:" + id
		ok, err := s.rdb.SetNX(ctx, key, "1", time.Minute).Result() // want `LL2003: the token that SetNX stores`
		if err != nil || !ok {
			return errBusy
		}
		held[key] = true
	}
	return work()
}

// A list with other keys in it is not a list of locks.

func (s *Seats) forget(ctx context.Context, ids []string) {
	var keys []string
	for _, id := range ids {
		keys = append(keys, "page:"+id)
	}
	s.rdb.Del(ctx, keys...)
}
