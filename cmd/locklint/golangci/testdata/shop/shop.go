package shop

import (
	"context"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func Sell(ctx context.Context, locks *lockrt.Locker) error {
	_, err := locks.Acquire(ctx, "stock", lockrt.Options{TTL: time.Minute})
	return err
}

func Count(ctx context.Context, locks *lockrt.Locker) error {
	lease, err := locks.Acquire(ctx, "stock", lockrt.Options{TTL: time.Minute})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	return lease.Check(ctx)
}
