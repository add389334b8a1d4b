package ll1001

import (
	"context"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// A lease that a literal releases which is handed to somebody, or started, is that one's from there on, not before.

func startedLate(ctx context.Context, l *lockrt.Locker, empty bool) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path: the return at line \d+ \(when empty\) leaves it held$`
	if err != nil {
		return err
	}
	if empty {
		return nil
	}
	go func() {
		defer lease.Release(ctx)
		ctx.Done()
	}()
	return nil
}

func startedAtOnce(ctx context.Context, l *lockrt.Locker, empty bool) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	go func() { defer lease.Release(ctx) }()
	if empty {
		return nil
	}
	return ctx.Err()
}

func afterFunc(ctx context.Context, l *lockrt.Locker, empty bool) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path: the return at line \d+ \(when empty\)`
	if err != nil {
		return err
	}
	if empty {
		return nil
	}
	context.AfterFunc(ctx, func() { lease.Release(context.WithoutCancel(ctx)) })
	return nil
}

type group interface{ Go(func() error) }

func grouped(ctx context.Context, l *lockrt.Locker, g group, names []string) error {
	for _, name := range names {
		lease, err := l.Acquire(ctx, name, lockrt.Options{})
		if err != nil {
			return err
		}
		g.Go(func() error { return lease.Release(ctx) })
	}
	return nil
}

func fixture(ctx context.Context, t *testing.T, l *lockrt.Locker) *lockrt.Lease {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lease.Release(ctx) })
	return lease
}

func cleanupFirst(ctx context.Context, t *testing.T, l *lockrt.Locker) {
	var lease *lockrt.Lease
	t.Cleanup(func() { lease.Release(ctx) })
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lease.Check(ctx)
}
