package ll3003

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// redsync says with an error, too, that the lock could not be prolonged: it has no majority any more then.

func extendsOr(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("a")
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	if ok, err := m.ExtendContext(ctx); !ok || err != nil {
		return errPaid
	}
	_, err := m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

func extendsThen(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("a")
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	extended, err := m.Extend()
	if err != nil {
		return err
	}
	if !extended {
		return errPaid
	}
	_, err = m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

func extendsAnd(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("a")
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	if ok, err := m.Extend(); err == nil && ok {
		_, err = m.UnlockContext(context.WithoutCancel(ctx))
		return err
	}
	return errPaid
}

func extendsForgets(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("a")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: the lock from Mutex.LockContext is not released on every path: the return at line \d+ \(when err == nil\) leaves it held`
		return err
	}
	if _, err := m.Extend(); err == nil {
		return nil
	}
	_, err := m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

// Whether it is valid may be unknown.
func validOr(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("a")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: the lock from Mutex.LockContext is not released on every path: the return at line \d+ \(when !ok \|\| err != nil\) leaves it held`
		return err
	}
	if ok, err := m.Valid(); !ok || err != nil {
		return errPaid
	}
	_, err := m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

// So may it be for redislock, whose error need not be about the lock.
func refreshes(ctx context.Context, client *redislock.Client) error {
	lock, err := client.Obtain(ctx, "a", time.Minute, nil) // want `LL3003: the lock from Obtain is not released on every path: the return at line \d+ \(when err != nil\) leaves it held`
	if err != nil {
		return err
	}
	if err := lock.Refresh(ctx, time.Minute, nil); err != nil {
		return err
	}
	return lock.Release(context.WithoutCancel(ctx))
}

// A wrapper says the same with its error.

type extending struct{ m *redsync.Mutex }

func newExtending(rs *redsync.Redsync) *extending { return &extending{rs.NewMutex("a")} }

func (e *extending) Lock(ctx context.Context) error { return e.m.LockContext(ctx) }

func (e *extending) Unlock(ctx context.Context) error {
	_, err := e.m.UnlockContext(ctx)
	return err
}

func (e *extending) Extend(ctx context.Context) error {
	if ok, err := e.m.ExtendContext(ctx); err != nil {
		return err
	} else if !ok {
		return errPaid
	}
	return nil
}

func extendsWrapped(ctx context.Context, rs *redsync.Redsync) error {
	e := newExtending(rs)
	if err := e.Lock(ctx); err != nil {
		return err
	}
	if err := e.Extend(ctx); err != nil {
		return err
	}
	return e.Unlock(context.WithoutCancel(ctx))
}
