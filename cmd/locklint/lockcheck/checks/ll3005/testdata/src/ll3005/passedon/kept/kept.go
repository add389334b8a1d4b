package kept

import (
	"context"
	"time"

	"github.com/bsm/redislock"
)

// Tests looks whether there is a lock, Blind does not.

type Tests struct {
	C    *redislock.Client
	lock *redislock.Lock
}

func (k *Tests) Lock(ctx context.Context) (err error) {
	k.lock, err = k.C.Obtain(ctx, "x", time.Minute, nil)
	return err
}

func (k *Tests) Unlock(ctx context.Context) error {
	if k.lock == nil {
		return nil
	}
	return k.lock.Release(ctx)
}

func (k *Tests) Close() error { return k.Unlock(context.Background()) }

type Blind struct {
	C    *redislock.Client
	lock *redislock.Lock
}

func (k *Blind) Lock(ctx context.Context) (err error) {
	k.lock, err = k.C.Obtain(ctx, "x", time.Minute, nil)
	return err
}

func (k *Blind) Unlock(ctx context.Context) error { return k.lock.Release(ctx) }

func (k *Blind) Close() error { return k.Unlock(context.Background()) }
