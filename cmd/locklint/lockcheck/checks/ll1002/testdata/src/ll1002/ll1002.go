package ll1002

import (
	"context"
	"log"
	"os"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func work() error { return nil }

func plain(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	err = work()
	lease.Release(ctx) // want `LL1002: this release of the lease from Acquire at line 15 is not deferred: a panic in work at line 19 skips it and keeps the lock; defer it right after the error check`
	return err
}

func looped(ctx context.Context, l *lockrt.Locker, keys []string) error {
	for _, key := range keys {
		lease, err := l.Acquire(ctx, key, lockrt.Options{})
		if err != nil {
			return err
		}
		work()
		if err := lease.Release(ctx); err != nil { // want `LL1002: .* put the body of the loop into a function that defers it`
			return err
		}
	}
	return nil
}

func callback(ctx context.Context, l *lockrt.Locker, fn func(int) error) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	if err := fn(1); err != nil {
		lease.Release(ctx) // want `LL1002: .* a panic in fn at line 43`
		return err
	}
	return lease.Release(ctx)
}

type job struct {
	lease *lockrt.Lease
	file  *os.File
}

func open(ctx context.Context, l *lockrt.Locker) (*job, error) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return nil, err
	}
	f, err := os.Open("x")
	if err != nil {
		lease.Release(ctx) // want `LL1002: .* defer one that runs unless the lease is handed over$`
		return nil, err
	}
	return &job{lease, f}, nil
}

func tried(ctx context.Context, l *lockrt.Locker, n int) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	work()
	for i := 0; i < n; i++ {
		if err = lease.Release(ctx); err == nil { // want `LL1002: .* defer it right after the error check$`
			break
		}
	}
	return err
}

func throughHelper(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	work()
	finish(ctx, lease) // want `LL1002: this release`
	return nil
}

func finish(ctx context.Context, lease *lockrt.Lease) { lease.Release(ctx) }

// Fine.

func deferred(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	work()
	return lease.Release(ctx)
}

func deferredLiteral(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer func() { finish(ctx, lease) }()
	return work()
}

func noWork(ctx context.Context, l *lockrt.Locker) (lockrt.Fence, error) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return 0, err
	}
	log.Println("got it at", time.Now())
	fence := lease.Fence()
	return fence, lease.Release(ctx)
}

func workBefore(ctx context.Context, l *lockrt.Locker) error {
	work()
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		work()
		return err
	}
	lease.Release(ctx)
	return work()
}

func endsByItself(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{NoRenew: true})
	if err != nil {
		return err
	}
	work()
	return lease.Release(ctx)
}

func leaks(ctx context.Context, l *lockrt.Locker) error { // LL1001 says more
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return lease.Release(ctx)
}
