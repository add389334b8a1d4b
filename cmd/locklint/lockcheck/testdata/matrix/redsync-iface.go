//matrix:take l, err := s.locks.Acquire(ctx, "lock:"+id)
//matrix:refused err != nil
//matrix:error err
//matrix:release l.Unlock(ctx)

package lk

import (
	"context"
	"errors"

	"github.com/go-redsync/redsync/v4"
)

type Lock interface {
	Unlock(ctx context.Context) error
}
type Locker interface {
	Acquire(ctx context.Context, k string) (Lock, error)
}
type lock struct{ mu *redsync.Mutex }

func (l *lock) Unlock(ctx context.Context) error {
	ok, err := l.mu.UnlockContext(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("lost")
	}
	return nil
}

type locker struct{ rs *redsync.Redsync }

func (s *locker) Acquire(ctx context.Context, k string) (Lock, error) {
	mu := s.rs.NewMutex(k)
	if err := mu.LockContext(ctx); err != nil {
		return nil, err
	}
	return &lock{mu}, nil
}
func NewLocker(rs *redsync.Redsync) Locker { return &locker{rs} }

type Locks struct{ Locker }
