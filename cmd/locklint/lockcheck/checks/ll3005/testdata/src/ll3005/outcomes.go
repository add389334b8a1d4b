package ll3005

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
)

// Variables of any type may keep whether there is a lock.

func waits(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	state := 0
	for state == 0 {
		if err := m.LockContext(ctx); err == nil {
			state = 1
		} else {
			time.Sleep(time.Second)
		}
	}
	defer m.UnlockContext(ctx)
	return work()
}

func countsTo(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	const most = 5
	i := 0
	for ; i < most; i++ {
		if err := m.LockContext(ctx); err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	if i == most {
		return errors.New("busy")
	}
	defer m.UnlockContext(ctx)
	return work()
}

func mask(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var held uint
	defer func() {
		if held&1 != 0 {
			m.UnlockContext(ctx)
		}
	}()
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	held |= 1
	return work()
}

func collects(ctx context.Context, rs *redsync.Redsync) error {
	var errs []error
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	defer m.UnlockContext(ctx)
	return work()
}

// A variable that is asked for something else says nothing.

func wrongMask(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	held := uint(2)
	defer func() {
		if held&2 != 0 {
			m.UnlockContext(ctx) // want `LL3005: m.UnlockContext runs also when m.LockContext at line \d+ has failed`
		}
	}()
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	held |= 1
	return work()
}

func limited(ctx context.Context, rs *redsync.Redsync, n int) error {
	m := rs.NewMutex("k")
	err := m.LockContext(ctx)
	if err != nil && n > 3 {
		m.UnlockContext(ctx) // want `LL3005: m.UnlockContext runs also when m.LockContext at line \d+ has failed`
		return err
	}
	if err != nil {
		return err
	}
	defer m.UnlockContext(ctx)
	return work()
}

// The first try is another one.
func again(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	if err := m.LockContext(ctx); err != nil {
		for range 3 {
			time.Sleep(time.Second)
			if err = m.LockContext(ctx); err == nil {
				break
			}
		}
	}
	defer m.UnlockContext(ctx) // want `LL3005: m.UnlockContext runs also when m.LockContext at line \d+ has failed`
	return work()
}
