// Package user locks through the interfaces of ports.
package user

import (
	"context"

	"ports"
)

type Tank struct {
	Lock  ports.Lock
	Local ports.Local
	Mutex ports.Mutex
	Other ports.Other
}

func (t *Tank) Burn(ctx context.Context, burn func(context.Context) error) error {
	if err := t.Mutex.LockContext(ctx); err != nil {
		return err
	}
	defer t.Mutex.UnlockContext(ctx) // want `LL3008: t.Mutex.UnlockContext is given the caller's context`
	return burn(ctx)
}

func (t *Tank) Look(ctx context.Context, look func(context.Context) error) error {
	if err := t.Other.LockContext(ctx); err != nil {
		return err
	}
	defer t.Other.UnlockContext(ctx)
	return look(ctx)
}

func (t *Tank) BurnAnyway(ctx context.Context, burn func()) {
	if err := t.Mutex.LockContext(ctx); err != nil {
		println(err)
	}
	defer t.Mutex.UnlockContext(context.WithoutCancel(ctx)) // want `LL3005: t.Mutex.UnlockContext runs also when t.Mutex.LockContext at line 34 has failed`
	burn()
}

func (t *Tank) Load(ctx context.Context, load func() error, busy error) error {
	if err := t.Lock.Lock(ctx); err != nil && err != busy { // want `LL3002: when t.Lock.Lock fails, the code goes on without the lock`
		return err
	}
	defer t.Lock.UnLock(context.WithoutCancel(ctx)) // want `LL3005: t.Lock.UnLock runs also when t.Lock.Lock at line 42 has failed`
	return load()
}

func (t *Tank) LoadHere(load func() error) error {
	t.Local.Lock()
	defer t.Local.Unlock()
	return load()
}
