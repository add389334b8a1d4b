//matrix:take unlock, err := s.locks.Acquire(ctx, "lock:"+id)
//matrix:refused err != nil
//matrix:error err
//matrix:release unlock(ctx)

package lk

import (
	"context"
	"fmt"

	"github.com/go-redsync/redsync/v4"
)

type Locks struct{ RS *redsync.Redsync }

func (s *Locks) Acquire(ctx context.Context, k string) (func(context.Context) error, error) {
	mu := s.RS.NewMutex(k)
	if err := mu.LockContext(ctx); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	return func(ctx context.Context) error { _, err := mu.UnlockContext(ctx); return err }, nil
}
