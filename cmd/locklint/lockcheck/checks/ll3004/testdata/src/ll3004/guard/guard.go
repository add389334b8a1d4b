// Package guard runs functions under a lock.
package guard

import (
	"context"
	"time"

	"github.com/bsm/redislock"
)

// Doer is what callers know of it.
type Doer interface {
	Do(ctx context.Context, key string, fn func(context.Context) error) error
}

// Guard has the locks.
type Guard struct{ locks *redislock.Client }

// Do runs fn under a lock.
func (g *Guard) Do(ctx context.Context, key string, fn func(context.Context) error) error {
	lock, err := g.locks.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release(context.WithoutCancel(ctx)) }()
	return fn(ctx)
}
