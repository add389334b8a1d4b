package ll3004

import (
	"context"
	"time"

	"github.com/bsm/redislock"
)

// The transaction rides in the context of the literal.

type manager interface {
	WithinTransaction(ctx context.Context, do func(ctx context.Context) error) error
	Transaction(ctx context.Context, do func(ctx context.Context) error) error
	WithTimeout(ctx context.Context, do func(ctx context.Context) error) error
	Tx(ctx context.Context, do func(ctx context.Context)) error
}

func runInTx(ctx context.Context, do func(ctx context.Context) error) error { return do(ctx) }

func inContext(ctx context.Context, c *redislock.Client, m manager) error {
	return m.WithinTransaction(ctx, func(ctx context.Context) error {
		lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3004: the lock from Obtain is taken inside the transaction begun at line 22`
		if err != nil {
			return err
		}
		defer lock.Release(ctx)
		return work()
	})
}

func inContextOfAFunction(ctx context.Context, c *redislock.Client) error {
	return runInTx(ctx, func(ctx context.Context) error {
		lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3004: the lock from Obtain is taken inside the transaction begun at line 33`
		if err != nil {
			return err
		}
		defer lock.Release(ctx)
		return work()
	})
}

// Fine.

func aroundContext(ctx context.Context, c *redislock.Client, m manager) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(ctx)
	return m.Transaction(ctx, func(ctx context.Context) error { return work() })
}

func noTransaction(ctx context.Context, c *redislock.Client, m manager) error {
	return m.WithTimeout(ctx, func(ctx context.Context) error {
		lock, err := c.Obtain(ctx, "a", time.Minute, nil)
		if err != nil {
			return err
		}
		defer lock.Release(ctx)
		return work()
	})
}

func cannotFail(ctx context.Context, c *redislock.Client, m manager) error {
	return m.Tx(ctx, func(ctx context.Context) { // of something that is not rolled back
		lock, err := c.Obtain(ctx, "a", time.Minute, nil)
		if err != nil {
			return
		}
		defer lock.Release(ctx)
		_ = work()
	})
}

func work() error { return nil }
