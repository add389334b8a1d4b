package ll3008

import (
	"context"
	"time"
)

// Comments that say what a release is worth.

func (s *syncer) saysSo(ctx context.Context, key string) error {
	lock, err := s.locks.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return err
	}
	defer func() {
		// If this fails, that is acceptable: the lock
		// expires on its own.
		if err := lock.Release(ctx); err != nil {
			println(key, err)
		}
	}()
	return work()
}

func (s *syncer) saysNothing(ctx context.Context, key string) error {
	lock, err := s.locks.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return err
	}
	defer func() {
		// Best effort: the others are waiting.
		if err := lock.Release(ctx); err != nil { // want `LL3008: lock.Release is given the caller's context`
			println(key, err)
		}
	}()
	return work()
}

func (s *syncer) saysItElsewhere(ctx context.Context, key string) error {
	// The lock expires on its own where the process dies.
	lock, err := s.locks.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(ctx) // want `LL3008: lock.Release is given the caller's context`
	return work()
}
