package ll3005

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// Objects of the program's own that are made where they are locked.

type boxed struct{ m *redsync.Mutex }

func (b *boxed) Lock(ctx context.Context) error   { return b.m.LockContext(ctx) }
func (b *boxed) Unlock(ctx context.Context) error { _, err := b.m.UnlockContext(ctx); return err }

type keeping struct {
	c    *redislock.Client
	lock *redislock.Lock
}

func (k *keeping) Lock(ctx context.Context) (err error) {
	k.lock, err = k.c.Obtain(ctx, "x", time.Minute, nil)
	return err
}

func (k *keeping) Unlock(ctx context.Context) error { return k.lock.Release(ctx) }

func boxedFirst(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	l := &boxed{rs.NewMutex("x")}
	defer func() {
		l.Unlock(context.WithoutCancel(ctx)) // want `LL3005: l.Unlock runs also when l.Lock at line \d+ has failed`
	}()
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

func structFirst(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	l := boxed{m: rs.NewMutex("x")}
	defer func() {
		l.Unlock(context.WithoutCancel(ctx)) // want `LL3005: l.Unlock runs also when l.Lock at line \d+ has failed`
	}()
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

func keepingFirst(ctx context.Context, c *redislock.Client, work func() error) error {
	l := keeping{c: c}
	defer func() {
		l.Unlock(context.WithoutCancel(ctx)) // want `LL3005: l.Unlock runs also when l.Lock at line \d+ has failed`
	}()
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

func boxedBehind(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	l := boxed{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	defer func() {
		l.Unlock(context.WithoutCancel(ctx))
	}()
	return work()
}
