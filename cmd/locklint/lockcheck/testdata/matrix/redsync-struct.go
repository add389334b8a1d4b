//matrix:setup l := lk.DLock{M: s.locks.RS.NewMutex("lock:" + id)}
//matrix:take err := l.Lock(ctx)
//matrix:refused err != nil
//matrix:error err
//matrix:release l.Unlock(ctx)

package lk

import (
	"context"

	"github.com/go-redsync/redsync/v4"
)

type DLock struct{ M *redsync.Mutex }

func (l DLock) Lock(ctx context.Context) error   { return l.M.LockContext(ctx) }
func (l DLock) Unlock(ctx context.Context) error { _, err := l.M.UnlockContext(ctx); return err }

type Locks struct{ RS *redsync.Redsync }
