package ll3002

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// Only errors of some type are heeded.

func onlyAs(ctx context.Context, m *redsync.Mutex) error {
	err := m.LockContext(ctx) // want `LL3002: when m.LockContext fails in another way than those that are asked for, the code goes on without the lock: work at line 21 runs either way`
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) {
		return err
	}
	defer m.UnlockContext(context.WithoutCancel(ctx))
	return work()
}

func onlyAsType(ctx context.Context, m *redsync.Mutex) error {
	err := m.LockContext(ctx) // want `LL3002: when m.LockContext fails in another way`
	if _, ok := errors.AsType[*redsync.ErrTaken](err); ok {
		return err
	}
	defer m.UnlockContext(context.WithoutCancel(ctx))
	return work()
}

func onlyAsserted(ctx context.Context, m *redsync.Mutex) error {
	err := m.LockContext(ctx) // want `LL3002: when m.LockContext fails in another way`
	if taken, ok := err.(*redsync.ErrTaken); ok {
		return taken
	}
	defer m.UnlockContext(context.WithoutCancel(ctx))
	return work()
}

func onlySwitched(ctx context.Context, m *redsync.Mutex) error {
	err := m.LockContext(ctx) // want `LL3002: when m.LockContext fails in another way`
	switch err := err.(type) {
	case *redsync.ErrTaken:
		return err
	case redsync.ErrTaken:
		return err
	}
	defer m.UnlockContext(context.WithoutCancel(ctx))
	return work()
}

// All are.

func thenAny(ctx context.Context, m *redsync.Mutex) error {
	err := m.LockContext(ctx)
	if _, ok := err.(*redsync.ErrTaken); ok {
		return errBusyNow
	}
	if err != nil {
		return err
	}
	defer m.UnlockContext(context.WithoutCancel(ctx))
	return work()
}

func asAny(ctx context.Context, m *redsync.Mutex) error {
	err := m.LockContext(ctx)
	var any error
	if errors.As(err, &any) {
		return any
	}
	defer m.UnlockContext(context.WithoutCancel(ctx))
	return work()
}

func switchedAny(ctx context.Context, m *redsync.Mutex) error {
	err := m.LockContext(ctx)
	switch err.(type) {
	case *redsync.ErrTaken:
		return errBusyNow
	case error:
		return err
	}
	defer m.UnlockContext(context.WithoutCancel(ctx))
	return work()
}

func switchedNil(ctx context.Context, m *redsync.Mutex) error {
	err := m.LockContext(ctx)
	switch err.(type) {
	case nil:
	case *redsync.ErrTaken:
		return errBusyNow
	default:
		return err
	}
	defer m.UnlockContext(context.WithoutCancel(ctx))
	return work()
}

// A function of the program has an error of its own for a lock that somebody else has, and hands on all others.

var errBusyNow = errors.New("busy")

func handsOn(ctx context.Context, c *redislock.Client) (*redislock.Lock, error) {
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil, errBusyNow
	}
	return l, err
}

func onlyOwn(ctx context.Context, c *redislock.Client) error {
	l, err := handsOn(ctx, c) // want `LL3002: when handsOn fails in another way`
	if errors.Is(err, errBusyNow) {
		return nil
	}
	defer l.Release(ctx)
	return work()
}

func handsOnAgain(ctx context.Context, c *redislock.Client) (*redislock.Lock, error) {
	return handsOn(ctx, c)
}

func onlyOwnAgain(ctx context.Context, c *redislock.Client) error {
	l, err := handsOnAgain(ctx, c) // want `LL3002: when handsOnAgain fails in another way`
	if err == errBusyNow {
		return nil
	}
	defer l.Release(ctx)
	return work()
}

// This one has no other errors.
func hasOne(ctx context.Context, c *redislock.Client) (*redislock.Lock, error) {
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	if err != nil {
		return nil, errBusyNow
	}
	return l, nil
}

func onlyThatOne(ctx context.Context, c *redislock.Client) error {
	l, err := hasOne(ctx, c)
	if errors.Is(err, errBusyNow) {
		return nil
	}
	defer l.Release(ctx)
	return work()
}

// A function returns no lock and no error where somebody else has it, and says so with a flag.

func withFlag(ctx context.Context, c *redislock.Client) (*redislock.Lock, bool, error) {
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil, false, nil
	}
	return l, err == nil, err
}

func dropsFlag(ctx context.Context, c *redislock.Client) error {
	l, _, err := withFlag(ctx, c) // want `LL3002: the outcome of withFlag is ignored: when somebody else holds the lock, the code goes on without it`
	if err != nil {
		return err
	}
	defer l.Release(ctx)
	return work()
}

func asksFlag(ctx context.Context, c *redislock.Client) error {
	l, ok, err := withFlag(ctx, c)
	if err != nil || !ok {
		return err
	}
	defer l.Release(ctx)
	return work()
}

func asksLockOfThree(ctx context.Context, c *redislock.Client) error {
	l, _, err := withFlag(ctx, c)
	if err != nil {
		return err
	}
	if l == nil {
		return errBusyNow
	}
	defer l.Release(ctx)
	return work()
}

// Here the flag says that somebody else has it.

func withBusy(ctx context.Context, c *redislock.Client) (*redislock.Lock, bool, error) {
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil, true, nil
	}
	return l, false, err
}

func asksBusy(ctx context.Context, c *redislock.Client) error {
	l, busy, err := withBusy(ctx, c)
	if err != nil || busy {
		return err
	}
	defer l.Release(ctx)
	return work()
}
