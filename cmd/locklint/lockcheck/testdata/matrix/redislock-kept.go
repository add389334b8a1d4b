//matrix:setup l := lk.NewLock(s.locks.C, "lock:"+id)
//matrix:take err := l.Lock(ctx)
//matrix:refused err != nil
//matrix:error err
//matrix:release l.Unlock(ctx)

package lk

import (
	"context"
	"time"

	"github.com/bsm/redislock"
)

type DLock struct {
	c    *redislock.Client
	key  string
	lock *redislock.Lock
}

func NewLock(c *redislock.Client, k string) *DLock { return &DLock{c: c, key: k} }

func (l *DLock) Lock(ctx context.Context) error {
	lock, err := l.c.Obtain(ctx, l.key, time.Minute, nil)
	if err != nil {
		return err
	}
	l.lock = lock
	return nil
}

func (l *DLock) Unlock(ctx context.Context) error { return l.lock.Release(ctx) }

type Locks struct{ C *redislock.Client }
