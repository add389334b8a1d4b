//matrix:setup l := lk.NewLock(s.locks.RS, "lock:"+id)
//matrix:take err := l.Lock(ctx)
//matrix:refused err != nil
//matrix:error err
//matrix:release l.Unlock(ctx)

package lk

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-redsync/redsync/v4"
)

type DLock struct{ mu *redsync.Mutex }

func NewLock(rs *redsync.Redsync, k string) *DLock { return &DLock{mu: rs.NewMutex(k)} }
func (l *DLock) Lock(ctx context.Context) error {
	if err := l.mu.LockContext(ctx); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}
func (l *DLock) Unlock(ctx context.Context) error {
	ok, err := l.mu.UnlockContext(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("lost")
	}
	return nil
}

type Locks struct{ RS *redsync.Redsync }
