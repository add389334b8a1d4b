//matrix:take l, err := s.locks.Obtain(ctx, "lock:"+id)
//matrix:refused err != nil
//matrix:error err
//matrix:release s.locks.Release(ctx, l)

package lk

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/bsm/redislock"
)

type Locks struct{ LC *redislock.Client }

func (s *Locks) Obtain(ctx context.Context, k string) (*redislock.Lock, error) {
	l, err := s.LC.Obtain(ctx, k, time.Second, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil, errors.New("busy")
	}
	return l, err
}
func (s *Locks) Release(ctx context.Context, l *redislock.Lock) {
	if err := l.Release(ctx); err != nil {
		log.Println(err)
	}
}
