package ll3008

import (
	"context"
	"time"

	"github.com/bsm/redislock"
)

// Literals that are given the lock and the context.

func (s *syncer) given(ctx context.Context, key string) error {
	lock, err := s.locks.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return err
	}
	defer func(lock *redislock.Lock, ctx context.Context) {
		if err := lock.Release(ctx); err != nil { // want `LL3008: lock.Release is given the caller's context`
			println(key, err)
		}
	}(lock, ctx)
	return work()
}

func (s *syncer) givenLock(ctx context.Context) error {
	lock, err := s.locks.Obtain(ctx, "given", time.Minute, nil)
	if err != nil {
		return err
	}
	defer func(lock *redislock.Lock) {
		_ = lock.Release(ctx) // want `LL3008: lock.Release is given the caller's context`
	}(lock)
	return work()
}

func (s *syncer) givenDetached(ctx context.Context, key string) error {
	lock, err := s.locks.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return err
	}
	defer func(lock *redislock.Lock, ctx context.Context) {
		if err := lock.Release(ctx); err != nil {
			println(key, err)
		}
	}(lock, context.WithoutCancel(ctx))
	return work()
}

// A mutex that a manager makes, and one that need not be there.

type mutex interface {
	Key() string
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
}

type mutexes interface {
	NewMutex(key string) (mutex, error)
}

func lockAll(ctx context.Context, m mutexes) (mutex, error) {
	all, err := m.NewMutex("all")
	if err != nil {
		return nil, err
	}
	err = all.Lock(ctx)
	return all, err
}

func reclaim(ctx context.Context, m mutexes) error {
	all, err := lockAll(ctx, m)
	if err != nil {
		return err
	}
	defer func() {
		if err := all.Unlock(ctx); err != nil { // want `LL3008: all.Unlock is given the caller's context`
			println(err)
		}
	}()
	return work()
}

func reclaimDetached(ctx context.Context, m mutexes) error {
	all, err := lockAll(ctx, m)
	if err != nil {
		return err
	}
	defer all.Unlock(context.WithoutCancel(ctx))
	return work()
}

type flow struct{ mux mutex }

func (f *flow) run(ctx context.Context) error {
	if f.mux != nil {
		if err := f.mux.Lock(ctx); err != nil {
			return err
		}
		defer func() {
			_ = f.mux.Unlock(ctx) // want `LL3008: f.mux.Unlock is given the caller's context`
		}()
	}
	return work()
}

func (f *flow) runDetached(ctx context.Context) error {
	if f.mux != nil {
		if err := f.mux.Lock(ctx); err != nil {
			return err
		}
	}
	err := work()
	if f.mux != nil {
		_ = f.mux.Unlock(context.WithoutCancel(ctx))
	}
	return err
}
