// Package onerror has releases that run where the acquire has failed.
package onerror

import (
	"context"
	"log"
	"time"

	"github.com/redis/go-redis/v9"
)

type store struct{ rdb *redis.Client }

func (s *store) TryLock(ctx context.Context, key string) (bool, error) {
	return s.rdb.SetNX(ctx, key, 1, 0).Result()
}

func (s *store) Unlock(ctx context.Context, key string) error { return s.rdb.Del(ctx, key).Err() }

// An error is no lock either.
func (s *store) fill(ctx context.Context, id string, load func()) {
	locked, err := s.TryLock(ctx, "fill-lock:"+id)
	if err != nil {
		log.Print(err)
	} else if !locked {
		return
	}
	defer s.Unlock(ctx, "fill-lock:"+id) // want `LL2002: DEL \(through store.Unlock\) also runs when SetNX \(through store.TryLock\) \(line 22\) has not got the lock`
	load()
}

func (s *store) fillHere(ctx context.Context, id string, load func()) {
	locked, err := s.rdb.SetNX(ctx, "fill-lock:"+id, 1, 0).Result()
	if err != nil {
		log.Print(err)
	} else if !locked {
		return
	}
	defer s.rdb.Del(ctx, "fill-lock:"+id) // want `LL2002: DEL also runs when SetNX \(line 33\) has not got the lock`
	load()
}

// Fine: with an error, nothing is locked.
func (s *store) fillOnly(ctx context.Context, id string, load func()) {
	locked, err := s.TryLock(ctx, "fill-lock:"+id)
	if err != nil {
		log.Print(err)
	}
	if !locked {
		return
	}
	defer s.Unlock(ctx, "fill-lock:"+id)
	load()
}

// Fine: tried again after an error.
func (s *store) fillAgain(ctx context.Context, id string, load func()) {
	for range 3 {
		locked, err := s.TryLock(ctx, "fill-lock:"+id)
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		if !locked {
			return
		}
		defer s.Unlock(ctx, "fill-lock:"+id)
		load()
		return
	}
}
