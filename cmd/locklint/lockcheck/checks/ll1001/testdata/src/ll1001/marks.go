package ll1001

import (
	"context"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// A lease that nobody renews and that lasts for hours is a mark, if only failures release it.

func marked(ctx context.Context, l *lockrt.Locker, work func() error) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{TTL: 24 * time.Hour, NoRenew: true})
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		lease.Release(ctx)
		return err
	}
	return nil
}

func renewed(ctx context.Context, l *lockrt.Locker, work func() error) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{TTL: 24 * time.Hour}) // want `LL1001: the lease from Acquire is not released on every path`
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		lease.Release(ctx)
		return err
	}
	return nil
}

func short(ctx context.Context, l *lockrt.Locker, work func() error) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{TTL: time.Minute, NoRenew: true}) // want `LL1001: the lease from Acquire is not released on every path`
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		lease.Release(ctx)
		return err
	}
	return nil
}
