package ll3002

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// Several tests are no better than one: an error that is none of them leads to the work.

func orIs(ctx context.Context, m *redsync.Mutex) error {
	if err := m.LockContext(ctx); errors.Is(err, redsync.ErrFailed) || errors.Is(err, context.Canceled) { // want `LL3002: when m.LockContext fails in another way`
		return err
	}
	defer m.Unlock()
	return work()
}

func orEqual(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3002: when c.Obtain fails in another way`
	if err == redislock.ErrNotObtained || err == context.DeadlineExceeded {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func orCase(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3002: when c.Obtain fails in another way`
	switch err {
	case redislock.ErrNotObtained, context.Canceled:
		return err
	}
	defer lock.Release(ctx)
	return work()
}

type slowError struct{ error }

type lateError struct{ error }

func orAs(m *redsync.Mutex) error {
	err := m.Lock() // want `LL3002: when m.Lock fails in another way`
	var slow *slowError
	var late *lateError
	if errors.As(err, &slow) || errors.As(err, &late) {
		return err
	}
	defer m.Unlock()
	return work()
}

func isBusy(err error) bool {
	return errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, context.Canceled)
}

func orHelper(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3002: when c.Obtain fails in another way`
	if isBusy(err) {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func isBusyByIf(err error) bool {
	if errors.Is(err, redislock.ErrNotObtained) {
		return true
	}
	return false
}

func oneHelper(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3002: when c.Obtain fails in another way`
	if isBusyByIf(err) {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func joinedIs(m *redsync.Mutex) error {
	err := errors.Join(m.Lock()) // want `LL3002: when m.Lock fails in another way`
	if errors.Is(err, redsync.ErrFailed) {
		return err
	}
	defer m.Unlock()
	return work()
}

// Any error is heeded.

func orNil(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if errors.Is(err, redislock.ErrNotObtained) || err != nil {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func orThenNil(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func isBad(err error) bool { return !errors.Is(err, context.Canceled) && err != nil }

func isAny(err error) bool {
	switch {
	case errors.Is(err, redislock.ErrNotObtained), errors.Is(err, context.Canceled):
		return true
	}
	return err != nil
}

func isFine(err error) bool { return !isBusy(err) && !isAny(err) }

func isOther(err error) bool {
	if errors.Is(err, redislock.ErrNotObtained) {
		return false
	}
	return true
}

func anyHelper(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if isAny(err) {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func fineHelper(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if !isFine(err) || isBad(err) {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func otherHelper(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if !isBusy(err) {
		if err != nil {
			return err
		}
		defer lock.Release(ctx)
		return work()
	}
	return nil
}

func negatedHelper(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if isOther(err) && err != nil {
		return err
	}
	if isBusy(err) {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func joinedNil(m *redsync.Mutex) error {
	err := errors.Join(m.Lock())
	if errors.Is(err, redsync.ErrFailed) {
		return nil
	}
	if err != nil {
		return err
	}
	defer m.Unlock()
	return work()
}
