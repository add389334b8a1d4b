//matrix:take mu, err := s.locks.Acquire(ctx, "lock:"+id)
//matrix:refused err != nil
//matrix:error err
//matrix:release s.locks.Release(ctx, mu)

package lk

import (
	"context"
	"errors"

	"github.com/go-redsync/redsync/v4"
)

type Locks struct{ RS *redsync.Redsync }

func (s *Locks) Acquire(ctx context.Context, k string) (*redsync.Mutex, error) {
	mu := s.RS.NewMutex(k)
	if err := mu.LockContext(ctx); err != nil {
		return nil, err
	}
	return mu, nil
}
func (s *Locks) Release(ctx context.Context, mu *redsync.Mutex) error {
	ok, err := mu.UnlockContext(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("lost")
	}
	return nil
}
