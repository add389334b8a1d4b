package ll3005

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// In a loop, what earlier rounds have deferred releases what they have acquired, if each round has a lock of its own.

func eachCaptured(ctx context.Context, rs *redsync.Redsync, names []string) error {
	for _, name := range names {
		lock := rs.NewMutex(name)
		if err := lock.LockContext(ctx); err != nil {
			return err
		}
		defer func() {
			if _, err := lock.UnlockContext(ctx); err != nil {
				println(name)
			}
		}()
	}
	return work()
}

func eachDeferred(ctx context.Context, rs *redsync.Redsync, names []string) error {
	for _, name := range names {
		lock := rs.NewMutex(name)
		if err := lock.LockContext(ctx); err != nil {
			return err
		}
		defer lock.UnlockContext(ctx)
	}
	return work()
}

func eachGiven(ctx context.Context, rs *redsync.Redsync, names []string) error {
	for _, name := range names {
		lock := rs.NewMutex(name)
		if err := lock.LockContext(ctx); err != nil {
			return err
		}
		defer func(m *redsync.Mutex) { _, _ = m.UnlockContext(ctx) }(lock)
	}
	return work()
}

func eachLease(ctx context.Context, c *redislock.Client, names []string) error {
	for _, name := range names {
		lock, err := c.Obtain(ctx, name, time.Minute, nil)
		if err != nil {
			return err
		}
		defer func() { _ = lock.Release(ctx) }()
	}
	return work()
}

func eachLeaseGiven(ctx context.Context, c *redislock.Client, names []string) error {
	for _, name := range names {
		lock, err := c.Obtain(ctx, name, time.Minute, nil)
		if err != nil {
			return err
		}
		defer func(l *redislock.Lock) { _ = l.Release(ctx) }(lock)
	}
	return work()
}

// Here all of them release the last one.
func oneVariable(ctx context.Context, rs *redsync.Redsync, names []string) error {
	var lock *redsync.Mutex
	for _, name := range names {
		lock = rs.NewMutex(name)
		if err := lock.LockContext(ctx); err != nil {
			return err
		}
		defer func() { _, _ = lock.UnlockContext(ctx) }() // want `LL3005: lock.UnlockContext runs also when lock.LockContext at line \d+ has failed`
	}
	return work()
}

// And here each one that has failed is released.
func eachUndue(ctx context.Context, rs *redsync.Redsync, names []string) error {
	for _, name := range names {
		lock := rs.NewMutex(name)
		err := lock.LockContext(ctx)
		defer func() { _, _ = lock.UnlockContext(ctx) }() // want `LL3005: lock.UnlockContext runs also when lock.LockContext at line \d+ has failed`
		if err != nil {
			return err
		}
	}
	return work()
}
