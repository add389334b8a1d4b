package retried

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// Functions that run another one until it has no error, which takes a lock.

func work() error { return nil }

func retry(n int, f func() error) error {
	var err error
	for range n {
		if err = f(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

var errGaveUp = errors.New("gave up")

type retrier struct{ pause time.Duration }

func (r *retrier) do(ctx context.Context, f func(context.Context) error) error {
	for {
		if err := f(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(errGaveUp, ctx.Err())
		case <-time.After(r.pause):
		}
	}
}

func once(f func() error) error {
	if err := f(); err != nil {
		return err
	}
	return nil
}

func mutex(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("x")
	if err := retry(5, func() error { return m.TryLockContext(ctx) }); err != nil { // want `LL3003: the lock from Mutex.TryLockContext is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	_, err := m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

func mutexByMethod(ctx context.Context, rs *redsync.Redsync, r *retrier) error {
	m := rs.NewMutex("x")
	err := r.do(ctx, func(ctx context.Context) error { // want `LL3003: `
		if err := m.LockContext(ctx); err != nil {
			return errors.Join(errGaveUp, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	_, err = m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

func mutexMethod(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("x")
	if err := retry(5, m.TryLock); err != nil { // want `LL3003: the lock from Mutex.TryLock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	_, err := m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

func mutexMethodRight(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("x")
	if err := retry(5, m.Lock); err != nil {
		return err
	}
	defer m.UnlockContext(context.WithoutCancel(ctx))
	return work()
}

func variable(ctx context.Context, c *redislock.Client) error {
	var lock *redislock.Lock
	err := once(func() (err error) { // want `LL3003: the lock from Obtain is not released on every path`
		lock, err = c.Obtain(ctx, "x", time.Minute, nil)
		return err
	})
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return lock.Release(context.WithoutCancel(ctx))
}

func variableRight(ctx context.Context, c *redislock.Client) error {
	var lock *redislock.Lock
	err := retry(5, func() (err error) {
		lock, err = c.Obtain(ctx, "x", time.Minute, nil)
		return err
	})
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		_ = lock.Release(context.WithoutCancel(ctx))
		return err
	}
	return lock.Release(context.WithoutCancel(ctx))
}

func variableAsked(ctx context.Context, c *redislock.Client) error {
	var lock *redislock.Lock
	_ = retry(5, func() (err error) {
		lock, err = c.Obtain(ctx, "x", time.Minute, nil)
		return err
	})
	if lock == nil {
		return errGaveUp
	}
	defer lock.Release(context.WithoutCancel(ctx))
	return work()
}

func mutexRight(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("x")
	if err := retry(5, func() error { return m.TryLockContext(ctx) }); err != nil {
		return err
	}
	defer m.UnlockContext(context.WithoutCancel(ctx))
	return work()
}

func mutexReturned(ctx context.Context, rs *redsync.Redsync) (*redsync.Mutex, error) {
	m := rs.NewMutex("x")
	if err := retry(5, func() error { return m.TryLockContext(ctx) }); err != nil {
		return nil, err
	}
	return m, nil
}

// A literal that somebody else has may release, whenever it runs.

func variableCleanedUp(ctx context.Context, c *redislock.Client, t *testing.T) error {
	var lock *redislock.Lock
	t.Cleanup(func() {
		if lock != nil {
			lock.Release(context.WithoutCancel(ctx))
		}
	})
	err := retry(5, func() (err error) {
		lock, err = c.Obtain(ctx, "x", time.Minute, nil)
		return err
	})
	if err != nil {
		return err
	}
	return work()
}

func mutexCleanedUp(ctx context.Context, rs *redsync.Redsync, t *testing.T) error {
	m := rs.NewMutex("x")
	t.Cleanup(func() { m.UnlockContext(context.WithoutCancel(ctx)) })
	if err := retry(5, func() error { return m.TryLockContext(ctx) }); err != nil {
		return err
	}
	return work()
}

// What is tried does more than take the lock.

func whole(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("x")
	return retry(5, func() error {
		if err := m.LockContext(ctx); err != nil {
			return err
		}
		defer m.UnlockContext(context.WithoutCancel(ctx))
		return work()
	})
}

func wholeFirst(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("x")
	err := retry(5, func() error {
		if err := m.LockContext(ctx); err != nil {
			return err
		}
		_ = work()
		_, err := m.UnlockContext(context.WithoutCancel(ctx))
		return err
	})
	if err != nil {
		return err
	}
	return work()
}

func takesMore(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("x")
	err := retry(5, func() error {
		if err := m.LockContext(ctx); err != nil {
			return nil // somebody else does it
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	_, _ = m.UnlockContext(context.WithoutCancel(ctx))
	return nil
}

// Functions whose error says something else.

func forgiving(n int, f func() error) error {
	for range n {
		if f() == nil {
			return nil
		}
	}
	return nil
}

func apart(f func() error) error {
	go func() { _ = f() }()
	return nil
}

func forgiven(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("x")
	if err := forgiving(5, func() error { return m.TryLockContext(ctx) }); err != nil {
		return err
	}
	if err := apart(func() error { return m.TryLockContext(ctx) }); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	_, err := m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

// What such a literal sets besides may say whether there is a lock.

func flagged(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("x")
	locked := false
	defer func() {
		if locked {
			_, _ = m.UnlockContext(context.WithoutCancel(ctx))
		}
	}()
	err := retry(3, func() error {
		if err := m.LockContext(ctx); err != nil {
			return err
		}
		locked = true
		return nil
	})
	if err != nil {
		return err
	}
	return work()
}

func flaggedAtomic(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("x")
	var locked atomic.Bool
	_ = retry(3, func() error {
		err := m.LockContext(ctx)
		locked.Store(err == nil)
		return err
	})
	if !locked.Load() {
		return errGaveUp
	}
	defer m.UnlockContext(context.WithoutCancel(ctx))
	return work()
}

func flaggedField(ctx context.Context, rs *redsync.Redsync, outcome *struct{ ok bool }) error {
	m := rs.NewMutex("x")
	_ = retry(3, func() error {
		err := m.LockContext(ctx)
		outcome.ok = err == nil
		return err
	})
	if !outcome.ok {
		return errGaveUp
	}
	defer m.UnlockContext(context.WithoutCancel(ctx))
	return work()
}

func ownError(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("x")
	var lastErr error
	_ = retry(3, func() error { lastErr = m.LockContext(ctx); return lastErr })
	if lastErr != nil {
		return lastErr
	}
	defer m.UnlockContext(context.WithoutCancel(ctx))
	return work()
}
