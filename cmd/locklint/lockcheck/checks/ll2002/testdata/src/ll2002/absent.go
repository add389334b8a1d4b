package ll2002

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// Interfaces whose methods say in words what SETNX does, and whose implementation is elsewhere.

type absentStore interface {
	SetIfNotExists(ctx context.Context, key, value string, ttl time.Duration) (bool, error)
	Delete(ctx context.Context, key string) error
}

type secondsStore interface {
	SetNx(key, value string, seconds int) (bool, error)
	Del(key string) error
}

type addingStore interface { // tells nobody whether it was there
	SetIfAbsent(ctx context.Context, key, value string, ttl time.Duration) error
	Delete(ctx context.Context, key string) error
}

func inWords(ctx context.Context, s absentStore, token string) error {
	ok, err := s.SetIfNotExists(ctx, "lock:words", token, time.Minute)
	if err != nil || !ok {
		return err
	}
	defer s.Delete(ctx, "lock:words") // want `LL2002: Delete releases this lock without asking whose it is`
	absentWork()
	return nil
}

func inSeconds(s secondsStore, token string) error {
	ok, err := s.SetNx("lock:seconds", token, 60)
	if err != nil || !ok {
		return err
	}
	defer s.Del("lock:seconds") // want `LL2002: Del releases this lock without asking whose it is`
	absentWork()
	return nil
}

func cachesInWords(ctx context.Context, s addingStore, text string) error {
	if err := s.SetIfAbsent(ctx, "page:words", text, time.Minute); err != nil {
		return err
	}
	return s.Delete(ctx, "page:words")
}

func seenInWords(ctx context.Context, s absentStore, id string) (bool, error) {
	return s.SetIfNotExists(ctx, "seen:"+id, "1", time.Hour)
}

// What a function gives back when it cannot get the next one is what it has.

func delAll(rdb *redis.Client, keys ...string) {
	rdb.Del(context.Background(), keys...) // want `LL2002: DEL releases this lock without asking whose it is`
}

func allOrNothing(ctx context.Context, rdb *redis.Client, ids []string, token string) error {
	var keys []string
	for _, id := range ids {
		key := "lock:all:" + id
		if ok, err := rdb.SetNX(ctx, key, token, time.Minute).Result(); err != nil || !ok {
			delAll(rdb, keys...)
			return errors.New("busy")
		}
		keys = append(keys, key)
	}
	absentWork()
	delAll(rdb, keys...)
	return nil
}

func absentWork() {}
