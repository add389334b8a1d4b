package general

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// An interface with one implementation on Redis and one in memory.

type TwoKinds interface {
	Lock(ctx context.Context, key string) (bool, error)
	Unlock(ctx context.Context, key string) error
}

type onRedis struct{ rdb *redis.Client }

func (r *onRedis) Lock(ctx context.Context, key string) (bool, error) {
	return r.rdb.SetNX(ctx, "kinds:"+key, "1", time.Minute).Result() // want `LL2003: the token that SetNX stores`
}

func (r *onRedis) Unlock(ctx context.Context, key string) error {
	return r.rdb.Del(ctx, "kinds:"+key).Err() // want `LL2002: DEL releases this lock`
}

type local struct {
	mu   sync.Mutex
	held map[string]bool
}

func (l *local) Lock(ctx context.Context, key string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	got := !l.held[key]
	l.held[key] = true
	return got, nil
}

func (l *local) Unlock(ctx context.Context, key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, key)
	return nil
}

func behind(ctx context.Context, locks TwoKinds, key string) error {
	locks.Lock(ctx, key) // want `LL2001: the outcome of SetNX \(through onRedis.Lock\) is ignored`
	defer locks.Unlock(ctx, key)
	return work()
}

func early(ctx context.Context, locks TwoKinds, key string) error {
	defer locks.Unlock(ctx, key) // want `LL2002: DEL \(through onRedis.Unlock\) also runs when SetNX`
	if ok, err := locks.Lock(ctx, key); err != nil || !ok {
		return err
	}
	return work()
}
