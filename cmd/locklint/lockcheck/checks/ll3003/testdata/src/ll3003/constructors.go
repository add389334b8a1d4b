package ll3003

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

type session struct {
	lock *redislock.Lock
	file *os.File
}

// open hands the lock over where it succeeds, and releases it otherwise.
func open(ctx context.Context, c *redislock.Client, n int) (_ *session, err error) {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = lock.Release(context.WithoutCancel(ctx))
		}
	}()
	if n == 3 {
		return nil, errors.New("three")
	}
	f, err := os.Open("x")
	if err != nil {
		return nil, err
	}
	return &session{lock, f}, nil
}

func openHandle(ctx context.Context, c *redislock.Client) (s *session, err error) {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		if s == nil {
			_ = lock.Release(context.WithoutCancel(ctx))
		}
	}()
	f, err := os.Open("x")
	if err != nil {
		return nil, err
	}
	return &session{lock, f}, nil
}

func lockedFor(ctx context.Context, rs *redsync.Redsync) (_ *redsync.Mutex, err error) {
	m := rs.NewMutex("a")
	if err := m.LockContext(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_, _ = m.UnlockContext(context.WithoutCancel(ctx))
		}
	}()
	if _, err := os.Open("x"); err != nil {
		return nil, err
	}
	return m, nil
}

func passedOn(ctx context.Context, c *redislock.Client, sink func(*redislock.Lock)) (err error) {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = lock.Release(context.WithoutCancel(ctx))
		}
	}()
	if err = work(); err != nil {
		return err
	}
	sink(lock)
	return nil
}

func keptFlag(ctx context.Context, rs *redsync.Redsync) (err error) {
	m := rs.NewMutex("a")
	locked := m.LockContext(ctx) == nil
	defer func() {
		if locked {
			_, err = m.UnlockContext(context.WithoutCancel(ctx))
		}
	}()
	if !locked {
		return errors.New("busy")
	}
	return work()
}

// The lock stays where nothing fails and nobody gets it.

func forgotten(ctx context.Context, c *redislock.Client) (err error) {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3003: the lock from Obtain is not released on every path`
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = lock.Release(context.WithoutCancel(ctx))
		}
	}()
	return work()
}

func droppedHandle(ctx context.Context, c *redislock.Client) (f *os.File, err error) {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3003: the lock from Obtain is not released on every path`
	if err != nil {
		return nil, err
	}
	defer func() {
		if f == nil {
			_ = lock.Release(context.WithoutCancel(ctx))
		}
	}()
	return os.Open("x")
}
