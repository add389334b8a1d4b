//matrix:take err := s.locks.Lock(ctx, "lock:"+id)
//matrix:refused err != nil
//matrix:error err
//matrix:release s.locks.Unlock(ctx, "lock:"+id)

package lk

import (
	"context"
	"sync"

	"github.com/go-redsync/redsync/v4"
)

type Locks struct {
	rs *redsync.Redsync
	mu sync.Mutex
	m  map[string]*redsync.Mutex
}

func (l *Locks) Lock(ctx context.Context, k string) error {
	m := l.rs.NewMutex(k)
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	l.m[k] = m
	l.mu.Unlock()
	return nil
}
func (l *Locks) Unlock(ctx context.Context, k string) error {
	l.mu.Lock()
	m := l.m[k]
	delete(l.m, k)
	l.mu.Unlock()
	if m == nil {
		return nil
	}
	_, err := m.UnlockContext(ctx)
	return err
}
