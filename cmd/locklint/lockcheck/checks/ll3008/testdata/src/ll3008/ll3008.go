package ll3008

import (
	"context"
	"net/http"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

func work() error { return nil }

func param(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(ctx) // want `LL3008: lock.Release is given the caller's context: once that is cancelled the release fails and the lock stays until its TTL`
	return work()
}

func request(w http.ResponseWriter, req *http.Request, rs *redsync.Redsync) {
	m := rs.NewMutex("a")
	if err := m.LockContext(req.Context()); err != nil {
		return
	}
	defer m.UnlockContext(req.Context()) // want `LL3008: m.UnlockContext is given the context of a request`
	work()
}

func timeout(c *redislock.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	err = work()
	lock.Release(ctx) // want `LL3008: lock.Release is given a context with a deadline`
	return err
}

func shadows(ctx context.Context, rs *redsync.Redsync, context string) error {
	m := rs.NewMutex(context)
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	defer m.UnlockContext(ctx) // want `LL3008`
	return work()
}

// Fine.

func detached(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(context.WithoutCancel(ctx))
	return work()
}

func background(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(context.Background())
	return work()
}

func ownTimeout(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	err = work()
	releaseCtx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	lock.Release(releaseCtx)
	return err
}

func elsewhere(ctx context.Context, lock *redislock.Lock) error { return lock.Release(ctx) }

func withoutContext(rs *redsync.Redsync) error {
	m := rs.NewMutex("a")
	if err := m.Lock(); err != nil {
		return err
	}
	defer m.Unlock()
	return work()
}

type job struct{ ctx context.Context }

func (j *job) run(c *redislock.Client) error {
	lock, err := c.Obtain(j.ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(j.ctx)
	return work()
}

// Releases in a function of their own.

func letGo(ctx context.Context, lock *redislock.Lock) error {
	if lock == nil {
		return nil
	}
	return lock.Release(ctx)
}

func letGoAlways(ctx context.Context, lock *redislock.Lock) error {
	return lock.Release(context.WithoutCancel(ctx))
}

func throughHelper(ctx context.Context, c *redislock.Client, work func() error) error {
	lock, err := c.Obtain(ctx, "k", time.Minute, nil)
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		_ = letGo(ctx, lock) // want `LL3008: letGo is given the caller's context`
		return err
	}
	return letGoAlways(ctx, lock)
}

// The goroutine that keeps a lease up goes on when the call is over, and with it perhaps the context.
func keptUp(ctx context.Context, c *redislock.Client) (context.Context, context.CancelFunc, error) {
	lock, err := c.Obtain(ctx, "kept", time.Minute, nil)
	if err != nil {
		return nil, nil, err
	}
	kept, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		<-kept.Done()
		_ = lock.Release(ctx) // want `LL3008: lock.Release is given the caller's context`
	}()
	return kept, cancel, nil
}

func keptUpDetached(ctx context.Context, c *redislock.Client) (context.CancelFunc, error) {
	lock, err := c.Obtain(ctx, "kept", time.Minute, nil)
	if err != nil {
		return nil, err
	}
	kept, cancel := context.WithCancel(ctx)
	go func() {
		<-kept.Done()
		_ = lock.Release(context.WithoutCancel(ctx))
	}()
	return cancel, nil
}
