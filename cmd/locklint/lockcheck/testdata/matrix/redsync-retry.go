//matrix:setup m := s.locks.RS.NewMutex("lock:" + id)
//matrix:take err := lk.Retry(ctx, 5, func() error { return m.TryLockContext(ctx) })
//matrix:refused err != nil
//matrix:error err
//matrix:release m.UnlockContext(ctx)

package lk

import (
	"context"
	"time"

	"github.com/go-redsync/redsync/v4"
)

func Retry(ctx context.Context, n int, f func() error) error {
	var err error
	for range n {
		if err = f(); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return err
}

type Locks struct{ RS *redsync.Redsync }
