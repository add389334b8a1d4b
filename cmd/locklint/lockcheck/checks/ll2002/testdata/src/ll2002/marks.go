package ll2002

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Functions that set a mark and take it back where something failed, beside those of a lock.

type marks struct{ rdb *redis.Client }

func (m *marks) acquireDay(ctx context.Context, key string) bool {
	return m.rdb.SetNX(ctx, "lock:day:"+key, "1", 24*time.Hour).Val()
}

func (m *marks) releaseDay(ctx context.Context, key string) {
	m.rdb.Del(ctx, "lock:day:"+key)
}

func (m *marks) daily(ctx context.Context, day string, work func() error) error {
	if !m.acquireDay(ctx, day) {
		return nil
	}
	if err := work(); err != nil {
		m.releaseDay(ctx, day)
		return err
	}
	return nil
}

// One that lasts a minute is a lock whose release on success has been forgotten.
func (m *marks) acquireMinute(ctx context.Context, key string) bool {
	return m.rdb.SetNX(ctx, "lock:minute:"+key, "1", time.Minute).Val()
}

func (m *marks) releaseMinute(ctx context.Context, key string) {
	m.rdb.Del(ctx, "lock:minute:"+key) // want `LL2002: DEL releases this lock without asking whose it is`
}

func (m *marks) minutely(ctx context.Context, id string, work func() error) error {
	if !m.acquireMinute(ctx, id) {
		return nil
	}
	if err := work(); err != nil {
		m.releaseMinute(ctx, id)
		return err
	}
	return nil
}

// One that is also released in the end is a lock, however long it lasts.
func (m *marks) acquireLong(ctx context.Context, key string) bool {
	return m.rdb.SetNX(ctx, "lock:long:"+key, "1", 24*time.Hour).Val()
}

func (m *marks) releaseLong(ctx context.Context, key string) {
	m.rdb.Del(ctx, "lock:long:"+key) // want `LL2002: DEL releases this lock without asking whose it is`
}

func (m *marks) long(ctx context.Context, id string, work func() error) error {
	if !m.acquireLong(ctx, id) {
		return nil
	}
	defer m.releaseLong(ctx, id)
	return work()
}

// ReleaseOf is for others, who may release whenever they like.
func (m *marks) acquireOf(ctx context.Context, key string) bool {
	return m.rdb.SetNX(ctx, "lock:of:"+key, "1", 24*time.Hour).Val()
}

func (m *marks) ReleaseOf(ctx context.Context, key string) {
	m.rdb.Del(ctx, "lock:of:"+key) // want `LL2002: DEL releases this lock without asking whose it is`
}
