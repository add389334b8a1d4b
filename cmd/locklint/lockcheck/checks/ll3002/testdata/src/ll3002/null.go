package ll3002

import (
	"context"

	"github.com/bsm/redislock"
)

// get returns nil when it has not got the lock.

func nobodyTests(ctx context.Context, c *redislock.Client) error {
	lock := get(ctx, c) // want `LL3002: get returns nil when it has not got the lock, and nobody looks`
	defer lock.Release(ctx)
	return work()
}

func somebodyTests(ctx context.Context, c *redislock.Client) error {
	lock := get(ctx, c)
	if lock == nil {
		return nil
	}
	defer lock.Release(ctx)
	return work()
}

func handsItOn(ctx context.Context, c *redislock.Client) *redislock.Lock { return get(ctx, c) }
