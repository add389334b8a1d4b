//matrix:setup mu := s.locks.RS.NewMutex("lock:" + id)
//matrix:take err := mu.LockContext(ctx)
//matrix:refused err != nil
//matrix:error err
//matrix:release mu.UnlockContext(ctx)

package lk

import "github.com/go-redsync/redsync/v4"

type Locks struct{ RS *redsync.Redsync }
