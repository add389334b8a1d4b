package lockrt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// Do runs fn under the lock on key. fn gets the lease's context, which is cancelled before the lock can be lost, and
// the lease. The lock is released when fn returns, panics or calls runtime.Goexit.
//
// If the lock was not acquired, fn is not called, and the error is that of Acquire. Otherwise the error is that of fn,
// unchanged. If the lease was lost while fn ran, the error wraps ErrLost, joined with fn's error, even if fn returned
// nil: fn may have run at the same time as the next holder. A failed release after that is logged and not returned: the
// work is done, and the lock is free after its TTL.
func (l *Locker) Do(
	ctx context.Context, key string, o Options, fn func(ctx context.Context, lease *Lease) error,
) (err error) {
	if fn == nil {
		return fmt.Errorf("run under lock %s: %w: there is no function to run", quote(key), ErrOptions)
	}
	lease, err := l.Acquire(ctx, key, o)
	if err != nil {
		return err
	}
	defer func() {
		failed, lost := lease.conclude(ctx)
		err = l.finishWork(ctx, err, failed, lost)
	}()
	return fn(lease.Context(), lease)
}

// DoAll is Do under the locks on all keys, see [Locker.AcquireAll].
func (l *Locker) DoAll(
	ctx context.Context, keys []string, o Options, fn func(ctx context.Context, leases Leases) error,
) (err error) {
	if fn == nil {
		return fmt.Errorf("run under %d locks: %w: there is no function to run", len(keys), ErrOptions)
	}
	leases, err := l.AcquireAll(ctx, keys, o)
	if err != nil {
		return err
	}
	defer func() {
		failed, lost := leases.conclude(ctx)
		err = l.finishWork(ctx, err, failed, lost)
	}()
	return fn(leases.Context(), leases)
}

// DoEach is Do under the locks on all keys, see [Locker.AcquireEach].
func (l *Locker) DoEach(
	ctx context.Context, keys []KeyOptions, o Options, fn func(ctx context.Context, leases Leases) error,
) (err error) {
	if fn == nil {
		return fmt.Errorf("run under %d locks: %w: there is no function to run", len(keys), ErrOptions)
	}
	leases, err := l.AcquireEach(ctx, keys, o)
	if err != nil {
		return err
	}
	defer func() {
		failed, lost := leases.conclude(ctx)
		err = l.finishWork(ctx, err, failed, lost)
	}()
	return fn(leases.Context(), leases)
}

// finishWork joins the result of the work with the losses of its leases, and logs what failed when they were released.
func (l *Locker) finishWork(ctx context.Context, work, failed, lost error) error {
	if failed != nil {
		l.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "lock not released after the work, left to its TTL", slog.Any("error", failed))
	}
	if lost == nil || errors.Is(work, ErrLost) { // it returned the cause of its context
		return work
	}
	return errors.Join(work, lost)
}
