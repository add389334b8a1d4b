package ll3005

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/redis/rueidis/rueidislock"
)

func work() error { return nil }

func obtain(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	defer lock.Release(ctx) // want `LL3005: lock.Release runs also when c.Obtain at line 15 has failed: there is no lock then, and the versions before 0.9.2 dereference nil; release behind the error check`
	if err != nil {
		return err
	}
	return work()
}

func cancel(ctx context.Context, l rueidislock.Locker) error {
	ctx, cancel, err := l.WithContext(ctx, "a")
	defer cancel() // want `LL3005: cancel runs also when l.WithContext at line 24 has failed: the function to release may be nil then, and calling it panics`
	if err != nil {
		return err
	}
	return ctx.Err()
}

func mutex(rs *redsync.Redsync) error {
	m := rs.NewMutex("a")
	err := m.Lock()
	defer func() { // released in any case
		m.Unlock() // want `LL3005: m.Unlock runs also when m.Lock at line 34 has failed`
	}()
	if err != nil {
		return err
	}
	return work()
}

func beforeLock(rs *redsync.Redsync) error {
	m := rs.NewMutex("a")
	defer m.Unlock() // want `LL3005`
	if err := m.Lock(); err != nil {
		return err
	}
	return work()
}

func branch(m *redsync.Mutex) error {
	if err := m.Lock(); err != nil {
		m.Unlock() // want `LL3005`
		return err
	}
	defer m.Unlock()
	return work()
}

// Fine.

func behind(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func tested(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	defer func() {
		if lock != nil {
			lock.Release(ctx)
		}
	}()
	if err != nil {
		return err
	}
	return work()
}

func testedError(m *redsync.Mutex) error {
	err := m.Lock()
	defer func() {
		if err == nil {
			m.Unlock()
		}
	}()
	if err != nil {
		return err
	}
	return work()
}

func onlyIf(ctx context.Context, l rueidislock.Locker) error {
	_, cancel, err := l.TryWithContext(ctx, "a")
	if err == nil {
		defer cancel()
		return work()
	}
	return err
}
