// Package user locks through the interfaces of ports.
package user

import (
	"context"

	"ports"
)

type Tank struct {
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
	defer t.Mutex.UnlockContext(context.WithoutCancel(ctx)) // want `LL3005: t.Mutex.UnlockContext runs also when t.Mutex.LockContext at line 32 has failed`
	burn()
}
