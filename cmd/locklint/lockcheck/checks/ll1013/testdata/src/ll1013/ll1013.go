package ll1013

import (
	"context"
	"errors"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func work() error { return nil }

func collects(ctx context.Context, l *lockrt.Locker, keys []string) error {
	for _, key := range keys {
		lease, err := l.Acquire(ctx, key, lockrt.Options{})
		if err != nil {
			return err
		}
		defer lease.Release(ctx) // want `LL1013: this release is deferred inside a loop: every lease from Acquire at line 14 is held until the function returns`
		work()
	}
	return nil
}

func collectsInLiteral(ctx context.Context, l *lockrt.Locker, n int) error {
	for range n {
		lease, err := l.Acquire(ctx, "a", lockrt.Options{})
		if err != nil {
			continue
		}
		defer func() { // want `LL1013`
			lease.Release(ctx)
		}()
	}
	return work()
}

// Fine.

func triesAgain(ctx context.Context, l *lockrt.Locker) error {
	for {
		lease, err := l.TryAcquire(ctx, "a", lockrt.Options{})
		if errors.Is(err, lockrt.ErrBusy) {
			continue
		}
		if err != nil {
			return err
		}
		defer lease.Release(ctx)
		return work()
	}
}

func ownFunction(ctx context.Context, l *lockrt.Locker, keys []string) error {
	for _, key := range keys {
		err := func() error {
			lease, err := l.Acquire(ctx, key, lockrt.Options{})
			if err != nil {
				return err
			}
			defer lease.Release(ctx)
			return work()
		}()
		if err != nil {
			return err
		}
	}
	return nil
}

func before(ctx context.Context, l *lockrt.Locker, keys []string) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	for range keys {
		work()
	}
	return nil
}
