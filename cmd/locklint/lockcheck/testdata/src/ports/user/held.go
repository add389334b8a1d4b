package user

import (
	"context"
	"errors"

	"ports"
)

type Shop struct {
	Locker ports.Locker
	Keyed  ports.Keyed
	Pool   ports.Pool
}

var errBusy = errors.New("busy")

func (s *Shop) Sell(ctx context.Context, sell func(context.Context) error) error {
	held, err := s.Locker.Acquire(ctx, "stock", 30)
	if err != nil {
		return err
	}
	defer held.Release(ctx) // want `LL3008: held.Release is given the caller's context`
	return sell(ctx)
}

func (s *Shop) SellSafely(ctx context.Context, sell func(context.Context) error) error {
	held, err := s.Locker.Acquire(ctx, "stock", 30)
	if err != nil {
		return err
	}
	defer func() {
		if err := held.Release(context.WithoutCancel(ctx)); err != nil {
			println(err)
		}
	}()
	return sell(ctx)
}

func (s *Shop) Forget(ctx context.Context, sell func(context.Context) error) error {
	held, err := s.Locker.Acquire(ctx, "stock", 30) // want `LL3003: .* not released`
	if err != nil {
		return err
	}
	if err := sell(ctx); err != nil {
		return err
	}
	return held.Release(context.WithoutCancel(ctx))
}

func (s *Shop) Try(ctx context.Context, sell func(context.Context) error) error {
	ok, err := s.Keyed.TryLock(ctx, "stock")
	if err != nil || !ok {
		return errors.Join(err, errBusy)
	}
	defer s.Keyed.Unlock(ctx, "stock") // want `LL3008: s.Keyed.Unlock is given the caller's context`
	return sell(ctx)
}

func (s *Shop) Query(ctx context.Context, sell func(context.Context) error) error {
	conn, err := s.Pool.Acquire(ctx, "db")
	if err != nil {
		return err
	}
	defer conn.Release(ctx)
	return sell(ctx)
}
