//matrix:take l, ok, err := s.locks.Obtain(ctx, "lock:"+id)
//matrix:refused err != nil || !ok
//matrix:error err
//matrix:release l.Release(ctx)

package lk

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
)

type Locks struct{ LC *redislock.Client }
type Lock struct{ l *redislock.Lock }

func (s *Locks) Obtain(ctx context.Context, k string) (*Lock, bool, error) {
	l, err := s.LC.Obtain(ctx, k, time.Second, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return &Lock{l}, true, nil
}
func (l *Lock) Release(ctx context.Context) error { return l.l.Release(ctx) }
