package ll3002

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"

	"wrapped/locks"
)

// Only some errors are heeded.

func onlyBusy(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3002: when c.Obtain fails in another way than those that are asked for, the code goes on without the lock: work at line 24 runs either way`
	if err == redislock.ErrNotObtained {
		return fmt.Errorf("busy: %w", err)
	}
	defer lock.Release(ctx)
	return work()
}

func onlyBusyIs(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3002: when c.Obtain fails in another way`
	if errors.Is(err, redislock.ErrNotObtained) {
		log.Println("busy")
	} else {
		defer lock.Release(ctx)
		return work()
	}
	return nil
}

func onlyTaken(m *redsync.Mutex) error {
	if err := m.Lock(); err == redsync.ErrFailed { // want `LL3002`
		return err
	}
	defer m.Unlock()
	return work()
}

// onlyBusyInResult puts the error into a result that a literal may set, too.
func onlyBusyInResult(ctx context.Context, c *redislock.Client) (err error) {
	lock, errLock := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3002: when c.Obtain fails in another way`
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if lock != nil {
			lock.Release(ctx)
		}
	}()
	err = errLock
	if err == redislock.ErrNotObtained {
		return nil
	}
	if err := work(); err != nil {
		return err
	}
	return nil
}

// anyInResult looks at the same result once more.
func anyInResult(ctx context.Context, c *redislock.Client) (err error) {
	lock, errLock := c.Obtain(ctx, "a", time.Minute, nil)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if lock != nil {
			lock.Release(ctx)
		}
	}()
	err = errLock
	if err == redislock.ErrNotObtained {
		return nil
	}
	if err != nil {
		return err
	}
	return work()
}

// lockInBetween looks at the lock before it works.
func lockInBetween(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	defer func() {
		if lock != nil {
			lock.Release(ctx)
		}
	}()
	if err == redislock.ErrNotObtained {
		return nil
	}
	if lock == nil {
		return errors.New("no lock")
	}
	return work()
}

// All are.

func others(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	switch err {
	case redislock.ErrNotObtained:
		return nil
	case nil:
	default:
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func asksLock(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil
	}
	if lock == nil {
		return errors.New("no lock")
	}
	defer lock.Release(ctx)
	return work()
}

func handedOver(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err == redislock.ErrNotObtained {
		return nil
	}
	check(err)
	defer lock.Release(ctx)
	return work()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// It has no other error.
func onlyOne(k *locks.Keyed) error {
	if err := k.Acquire("a"); err == locks.ErrBusy {
		return err
	}
	defer k.Done()
	return work()
}

func noWork(ctx context.Context, c *redislock.Client) bool {
	_, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err == redislock.ErrNotObtained {
		return false
	}
	log.Println("taken")
	return true
}

// A wrapper with an error of its own may have those of the library, too.
func onlyOurs(ctx context.Context, a *locks.Anyhow) error {
	err := a.Obtain(ctx, "a") // want `LL3002: when a.Obtain fails in another way`
	if errors.Is(err, locks.ErrBusy) {
		return err
	}
	defer a.ReleaseLock(ctx)
	return work()
}

func oneOfOurs(ctx context.Context, a *locks.Always) error {
	if err := a.Lock(ctx); errors.Is(err, locks.ErrBusy) {
		return err
	}
	defer a.Unlock(ctx)
	return work()
}
