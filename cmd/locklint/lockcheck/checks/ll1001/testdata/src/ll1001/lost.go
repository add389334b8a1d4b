package ll1001

import (
	"context"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Once Done is closed or Err returns an error, the lease is over: there is nothing left to release.

func again(ctx context.Context, l *lockrt.Locker) error {
	for {
		lease, err := l.Acquire(ctx, "a", lockrt.Options{})
		if err != nil {
			return err
		}
		select {
		case <-lease.Done():
			continue
		default:
		}
		defer lease.Release(ctx)
		return nil
	}
}

func waitsForTheEnd(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	<-lease.Done()
	return lease.Err()
}

func lostMeanwhile(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	if err := lease.Err(); err != nil {
		return err
	}
	return lease.Release(ctx)
}

func otherCase(ctx context.Context, l *lockrt.Locker, done chan int) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path: the return at line \d+ .*leaves it held`
	if err != nil {
		return err
	}
	select {
	case <-lease.Done():
		return lease.Err()
	case <-done:
		return nil
	case <-ctx.Done():
	}
	return lease.Release(ctx)
}

func notLost(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path`
	if err != nil {
		return err
	}
	if lease.Err() == nil {
		return nil
	}
	return lease.Release(ctx)
}

// Its context ends with the caller's, too.
func contextDone(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is never released`
	if err != nil {
		return err
	}
	<-lease.Context().Done()
	return nil
}

// A value of another case is no sign of the end, be it the number of that case.
func otherValue(ctx context.Context, l *lockrt.Locker, ch chan int) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: .*when n == 0`
	if err != nil {
		return err
	}
	select {
	case <-lease.Done():
	case n := <-ch:
		if n == 0 {
			return nil
		}
	}
	return lease.Release(ctx)
}

func cancelled(ctx context.Context, l *lockrt.Locker, ch chan int) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: .*the return at line \d+ \(when <-ctx.Done\(\)\) leaves it held`
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-ch:
	}
	return lease.Release(ctx)
}
