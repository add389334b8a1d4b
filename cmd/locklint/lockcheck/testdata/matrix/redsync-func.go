//matrix:take unlock, err := s.locks.Acquire(ctx, "lock:"+id)
//matrix:refused err != nil
//matrix:error err
//matrix:release unlock()

package lk

import (
	"context"
	"log"

	"github.com/go-redsync/redsync/v4"
)

type Locks struct{ RS *redsync.Redsync }

func (s *Locks) Acquire(ctx context.Context, k string) (func(), error) {
	mu := s.RS.NewMutex(k)
	if err := mu.LockContext(ctx); err != nil {
		return nil, err
	}
	return func() {
		if _, err := mu.UnlockContext(ctx); err != nil {
			log.Println(err)
		}
	}, nil
}
