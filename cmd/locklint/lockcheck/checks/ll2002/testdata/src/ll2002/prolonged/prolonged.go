package prolonged

import (
	"context"
	"time"

	"github.com/bsm/redislock"
)

// A Locker that prolongs what it keeps: its locks do not expire under their holders.
type Locker struct {
	c     *redislock.Client
	locks map[string]*redislock.Lock
}

func (l *Locker) Lock(ctx context.Context, key string) error {
	lock, err := l.c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return err
	}
	l.locks[key] = lock
	go func() {
		for lock.Refresh(ctx, time.Minute, nil) == nil {
			time.Sleep(20 * time.Second)
		}
	}()
	return nil
}

func (l *Locker) Unlock(ctx context.Context, key string) error {
	lock := l.locks[key]
	delete(l.locks, key)
	return lock.Release(ctx)
}
