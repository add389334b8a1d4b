package ll3008

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"golang.org/x/sync/errgroup"
)

// A release that a function hands out, with the context that the function was given: by the time that the caller runs it,
// that may be over.

func acquireFunc(ctx context.Context, c *redislock.Client, key string) (func(), error) {
	lock, err := c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Release(ctx) }, nil // want `LL3008: lock.Release is given the caller's context`
}

func acquireVariable(ctx context.Context, rs *redsync.Redsync, key string) (release func() error, err error) {
	m := rs.NewMutex(key)
	if err := m.LockContext(ctx); err != nil {
		return nil, err
	}
	release = func() error {
		_, err := m.UnlockContext(ctx) // want `LL3008: m.UnlockContext is given the caller's context`
		return err
	}
	return release, nil
}

func acquireTimeout(ctx context.Context, c *redislock.Client, key string) (func() error, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	lock, err := c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return func() error { return lock.Release(ctx) }, nil // want `LL3008: lock.Release is given a context with a deadline`
}

type held struct{ release func() error }

func acquireInStruct(ctx context.Context, c *redislock.Client, key string) (*held, error) {
	lock, err := c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return &held{release: func() error { return lock.Release(ctx) }}, nil // want `LL3008: lock.Release is given the caller's context`
}

// The context of an errgroup is over when Wait returns.

func inGroup(ctx context.Context, c *redislock.Client, work func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	lock, err := c.Obtain(ctx, "k", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(ctx) // want `LL3008: lock.Release is given the context of an errgroup`
	g.Go(func() error { return work(ctx) })
	return g.Wait()
}

// What a function makes of a context ends with it.

type traceKey struct{}

func withTrace(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, traceKey{}, id)
}

func derivedContext(ctx context.Context, c *redislock.Client) error {
	ctx = withTrace(ctx, "x")
	lock, err := c.Obtain(ctx, "k", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(ctx) // want `LL3008: lock.Release is given the caller's context`
	return nil
}

// Fine.

func handsOutDetached(ctx context.Context, c *redislock.Client, key string) (func(), error) {
	lock, err := c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Release(context.WithoutCancel(ctx)) }, nil
}

func handsOutBackground(ctx context.Context, c *redislock.Client, key string) (func(), error) {
	lock, err := c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = lock.Release(ctx)
	}, nil
}

// given: whoever runs it brings a context.
func handsOutGiven(ctx context.Context, c *redislock.Client, key string) (func(context.Context) error, error) {
	lock, err := c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return lock.Release(ctx) }, nil
}

// onFailure gives up in the call itself.
func handsOutFresh(ctx context.Context, c *redislock.Client, key string) (func(), error) {
	lock, err := c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Release(context.Background()) }, nil
}

// detach makes a context of its own.
func detach(ctx context.Context) context.Context {
	return context.WithValue(context.Background(), traceKey{}, ctx.Value(traceKey{}))
}

func detachedFromOuter(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "k", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(detach(ctx))
	return errors.New("x")
}
