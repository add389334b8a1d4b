package ll2002

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A pair of methods on one type: the key is a field, or just what the caller says.

type Mutex struct {
	rdb redis.Cmdable
	key string
}

func (m *Mutex) Lock(ctx context.Context) bool {
	return m.rdb.SetNX(ctx, m.key, 1, time.Minute).Val()
}

func (m *Mutex) Unlock(ctx context.Context) error {
	return m.rdb.Del(ctx, m.key).Err() // want `LL2002: DEL releases this lock`
}

type Locks struct{ rdb *redis.Client }

func (l *Locks) TryLockOrder(ctx context.Context, key string) (bool, error) {
	return l.rdb.SetNX(ctx, key, 1, time.Minute).Result()
}

func (l *Locks) UnlockOrder(ctx context.Context, key string) error {
	return l.rdb.Del(ctx, key).Err() // want `LL2002: DEL releases this lock`
}

func (l *Locks) ForceUnlockOrder(ctx context.Context, key string) error {
	return l.rdb.Del(ctx, key).Err()
}

func (l *Locks) LockUser(ctx context.Context, key string) (bool, error) {
	return l.rdb.SetNX(ctx, key, 1, time.Minute).Result()
}

func (l *Locks) UnlockUser(ctx context.Context, key string) error {
	return l.rdb.Del(ctx, key).Err()
}

// A data layer that happens to have both commands is no lock.

type Cache struct{ rdb *redis.Client }

func (c *Cache) SetNX(ctx context.Context, key string, v any, ttl time.Duration) (bool, error) {
	return c.rdb.SetNX(ctx, key, v, ttl).Result()
}

func (c *Cache) Del(ctx context.Context, key string) error { return c.rdb.Del(ctx, key).Err() }

// Its users make it one.

func useCache(ctx context.Context, c *Cache, id string) error {
	key := "job:" + id
	if ok, err := c.SetNX(ctx, key, 1, time.Minute); err != nil || !ok {
		return errBusy
	}
	defer c.Del(ctx, key) // want `LL2002: DEL \(through Cache.Del\) releases this lock`
	return nil
}

func noLock(ctx context.Context, c *Cache, id string) error {
	if ok, err := c.SetNX(ctx, "job:"+id, 1, time.Minute); err != nil || !ok {
		return errBusy
	}
	return c.Del(ctx, "result:"+id)
}

// A wrapper that takes and releases: found where it stands, not again where it is used.

func (l *Locks) WithLock(ctx context.Context, key string, fn func() error) error {
	if !l.rdb.SetNX(ctx, key, 1, time.Minute).Val() {
		return errBusy
	}
	defer l.rdb.Del(ctx, key) // want `LL2002: DEL releases this lock`
	return fn()
}

func useWithLock(ctx context.Context, l *Locks) error {
	return l.WithLock(ctx, "lock:use", func() error { return nil })
}

// Generics.

type Box[T any] struct{ rdb *redis.Client }

func (b *Box[T]) Lock(ctx context.Context, key string) bool {
	return b.rdb.SetNX(ctx, key, 1, time.Minute).Val()
}

func (b *Box[T]) Unlock(ctx context.Context, key string) {
	b.rdb.Del(ctx, key) // want `LL2002: DEL releases this lock`
}

// Users of a lock in the same package hear nothing: it is reported where it is made up.

type Guard struct{ mutex *Mutex }

func (g *Guard) Run(ctx context.Context, work func()) {
	if g.mutex.Lock(ctx) {
		defer g.mutex.Unlock(ctx)
		work()
	}
}

// But a release of their own is another lock.

func (l *Locks) half(ctx context.Context, key string) {
	if ok, _ := l.TryLockOrder(ctx, key); ok {
		defer l.rdb.Del(ctx, key) // want `LL2002: DEL releases this lock`
	}
}

// Lock and Release on one type, RedisLock and UnRedisLock.

type plain struct{ rdb *redis.Client }

func (p *plain) TryLock(ctx context.Context, key string) bool {
	return p.rdb.SetNX(ctx, key, 1, time.Minute).Val()
}

func (p *plain) Release(ctx context.Context, key string) {
	p.rdb.Del(ctx, key) // want `LL2002: DEL releases this lock`
}

func RedisLock(ctx context.Context, rdb *redis.Client, key string) bool {
	return rdb.SetNX(ctx, key, 1, time.Minute).Val()
}

func UnRedisLock(ctx context.Context, rdb *redis.Client, key string) {
	rdb.Del(ctx, key) // want `LL2002: DEL releases this lock`
}

// A stock of seats is released, not a lock.

type seats struct{ rdb *redis.Client }

func (s *seats) LockSeat(ctx context.Context, key string) bool {
	return s.rdb.SetNX(ctx, key, 1, time.Minute).Val()
}

func (s *seats) Release(ctx context.Context, key string) { s.rdb.Del(ctx, key) }
