//matrix:take l, err := s.locks.LC.Obtain(ctx, "lock:"+id, time.Second, nil)
//matrix:refused err != nil
//matrix:error err
//matrix:release l.Release(ctx)

package lk

import "github.com/bsm/redislock"

type Locks struct{ LC *redislock.Client }
