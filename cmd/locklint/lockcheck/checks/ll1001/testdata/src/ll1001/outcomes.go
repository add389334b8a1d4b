package ll1001

import (
	"context"
	"errors"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Variables of any type may keep whether there is a lease.

func waits(ctx context.Context, l *lockrt.Locker, work func() error) error {
	state := 0
	var lease *lockrt.Lease
	for state == 0 {
		var err error
		lease, err = l.TryAcquire(ctx, "a", lockrt.Options{})
		switch {
		case err == nil:
			state = 1
		case errors.Is(err, lockrt.ErrBusy):
			time.Sleep(time.Second)
		default:
			return err
		}
	}
	defer lease.Release(ctx)
	return work()
}

func countsTries(ctx context.Context, l *lockrt.Locker, work func() error) error {
	var lease *lockrt.Lease
	var err error
	i := 0
	for ; i < 5; i++ {
		if lease, err = l.TryAcquire(ctx, "a", lockrt.Options{}); err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	if i == 5 {
		return err
	}
	defer lease.Release(ctx)
	return work()
}

func counted(ctx context.Context, l *lockrt.Locker, n int, work func() error) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path: .*when n == 5`
	if err != nil {
		return err
	}
	if n == 5 {
		return nil
	}
	lease.Release(ctx)
	return work()
}
