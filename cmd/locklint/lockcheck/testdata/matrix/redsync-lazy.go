//matrix:setup l := lk.NewLock(s.locks.RS, "lock:"+id)
//matrix:take err := l.Lock(ctx)
//matrix:refused err != nil
//matrix:error err
//matrix:release l.Unlock(ctx)

package lk

import (
	"context"

	"github.com/go-redsync/redsync/v4"
)

type DLock struct {
	rs  *redsync.Redsync
	key string
	m   *redsync.Mutex
}

func NewLock(rs *redsync.Redsync, k string) *DLock { return &DLock{rs: rs, key: k} }

func (l *DLock) Lock(ctx context.Context) error {
	l.m = l.rs.NewMutex(l.key)
	return l.m.LockContext(ctx)
}

func (l *DLock) Unlock(ctx context.Context) error { _, err := l.m.UnlockContext(ctx); return err }

type Locks struct{ RS *redsync.Redsync }
