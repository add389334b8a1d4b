package ll3008

import (
	"context"
	"os/signal"
	"syscall"
	"time"

	"github.com/bsm/redislock"
)

// A context that nobody but this function cancels, and only once the lock is released.

func cancelsLast(c *redislock.Client) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err := lock.Release(ctx); err != nil {
			println(err)
		}
	}()
	return work()
}

func cancelsLastPlainly(c *redislock.Client) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(context.TODO()))
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		cancel()
		return err
	}
	err = work()
	_ = lock.Release(ctx)
	cancel()
	return err
}

func cancelsBefore(c *redislock.Client) error {
	ctx, cancel := context.WithCancel(context.Background())
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		cancel()
		return err
	}
	defer lock.Release(ctx) // want `LL3008: lock.Release is given a context with a cancel function`
	defer cancel()
	return work()
}

func othersCancel(c *redislock.Client, stop chan struct{}) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-stop
		cancel()
	}()
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(ctx) // want `LL3008: lock.Release is given a context with a cancel function`
	return work()
}

// The caller may cancel, whatever this function does.
func callerCancels(ctx context.Context, c *redislock.Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(ctx) // want `LL3008: lock.Release is given a context with a cancel function`
	return work()
}

// A signal ends this one, while the lock is held.
func signalCancels(c *redislock.Client) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(ctx) // want `LL3008: lock.Release is given a context with a cancel function`
	return work()
}
