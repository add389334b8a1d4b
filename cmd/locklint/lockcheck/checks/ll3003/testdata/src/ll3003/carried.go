package ll3003

import (
	"context"
	"errors"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// What finds an error in that of the acquire finds none where there is a lock.

func asType(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("a")
	err := m.LockContext(ctx)
	if taken, ok := errors.AsType[*redsync.ErrTaken](err); ok {
		return taken
	}
	if err != nil {
		return err
	}
	err = work()
	_, _ = m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

func asTypeKept(ctx context.Context, rs *redsync.Redsync, busy error) error {
	m := rs.NewMutex("a")
	err := m.LockContext(ctx)
	_, taken := errors.AsType[*redsync.ErrTaken](err)
	for taken {
		return busy
	}
	if err != nil {
		return err
	}
	err = work()
	_, _ = m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

func asTypeForgets(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("a")
	err := m.LockContext(ctx) // want `LL3003: the lock from Mutex.LockContext is never released: the return at line \d+ \(when !ok\) leaves it held`
	if _, ok := errors.AsType[*redsync.ErrTaken](err); !ok {
		return err
	}
	if err != nil {
		return err
	}
	_, _ = m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

func asserted(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("a")
	err := m.LockContext(ctx)
	if _, ok := err.(*redsync.ErrTaken); ok {
		return errPaid
	}
	switch err.(type) {
	case redsync.ErrTaken:
		return errPaid
	}
	if err != nil {
		return err
	}
	err = work()
	_, _ = m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

func assertedForgets(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("a")
	err := m.LockContext(ctx) // want `LL3003: the lock from Mutex.LockContext is not released on every path: the return at line \d+ \(when errors.Is\(ctx.Err\(\), context.Canceled\)\) leaves it held`
	if _, ok := err.(*redsync.ErrTaken); ok {
		return errPaid
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return errPaid
	}
	_, _ = m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

// An error that is made of this one alone is nil where there is a lock, and only there.

func joined(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("a")
	if err := errors.Join(m.LockContext(ctx)); err != nil {
		return err
	}
	err := work()
	_, _ = m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

func joinedWithNone(ctx context.Context, client *redislock.Client) (err error) {
	defer func() { println(err) }()
	lock, err := client.Obtain(ctx, "a", 0, nil)
	err = errors.Join(nil, err)
	if err != nil {
		return err
	}
	err = work()
	_ = lock.Release(context.WithoutCancel(ctx))
	return err
}

func joinedForgets(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("a")
	if err := errors.Join(m.LockContext(ctx)); err != nil { // want `LL3003: the lock from Mutex.LockContext is not released on every path: the return at line \d+ \(when err != nil\) leaves it held`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	_, err := m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

// Of several, another one may be there.
func joinedWithOthers(ctx context.Context, rs *redsync.Redsync) error {
	a, b := rs.NewMutex("a"), rs.NewMutex("b")
	err := errors.Join(a.LockContext(ctx), b.LockContext(ctx)) // want `LL3003: the lock from Mutex.LockContext is not released on every path: the return at line \d+ \(when err != nil\) leaves it held` `LL3003: the lock from Mutex.LockContext is not released on every path`
	if err != nil {
		return err
	}
	_, _ = a.UnlockContext(context.WithoutCancel(ctx))
	_, _ = b.UnlockContext(context.WithoutCancel(ctx))
	return work()
}
