// Package names has locks whose acquire and release are known by what they are called.
package names

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var rdb *redis.Client

func AcquiredLock(ctx context.Context, key string) bool {
	return rdb.SetNX(ctx, key, "1", time.Second).Val()
}

func ReleaseLock(ctx context.Context, key string) {
	rdb.Del(ctx, key) // want `LL2002: DEL releases this lock .* if the SetNX at line 15 has expired`
}

type nodes struct{}

func (nodes) RedisTryLock(ctx context.Context, key string) bool {
	return rdb.SetNX(ctx, key, "1", time.Second).Val()
}

func (nodes) RedisUnlock(ctx context.Context, key string) {
	rdb.Del(ctx, key) // want `LL2002: DEL releases this lock .* if the SetNX at line 25 has expired`
}

// Fine: of something else.
func (nodes) TakeSeat(ctx context.Context, key string) bool {
	return rdb.SetNX(ctx, key, "1", time.Second).Val()
}

func (nodes) RemoveEntry(ctx context.Context, key string) { rdb.Del(ctx, key) }

// A key that a function makes which the object was given.
type chatLock struct{ keyOf func(chat string) string }

func (s *chatLock) Start(ctx context.Context, chat string) bool {
	return rdb.SetNX(ctx, s.keyOf(chat), "1", time.Second).Val()
}

func (s *chatLock) Finish(ctx context.Context, chat string) {
	rdb.Del(ctx, s.keyOf(chat)) // want `LL2002: DEL releases this lock .* if the SetNX at line 43 has expired`
}

type entries struct{ keyOf func(id string) string }

// Fine: nothing says lock.
func (s *entries) Put(ctx context.Context, id string) bool {
	return rdb.SetNX(ctx, s.keyOf(id), "1", time.Second).Val()
}

func (s *entries) Drop(ctx context.Context, id string) { rdb.Del(ctx, s.keyOf(id)) }

// A key that is made of much is still the same key.
func deep(ctx context.Context, parts []string, work func()) {
	key := "lock:" + hash(strings.ToLower(hash(strings.TrimSpace(hash(strings.ToUpper(hash(strings.Join(parts, ","))))))))
	if !set(ctx, key) {
		return
	}
	work()
	remove(ctx, key)
}

func set(ctx context.Context, key string) bool { return rdb.SetNX(ctx, key, "1", time.Second).Val() }

func remove(ctx context.Context, keys ...string) {
	rdb.Del(ctx, keys...) // want `LL2002: DEL releases this lock .* if the SetNX at line 62 has expired`
}

func hash(s string) string { return s }
