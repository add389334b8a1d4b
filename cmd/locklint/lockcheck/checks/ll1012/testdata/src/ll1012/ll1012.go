package ll1012

import (
	"context"
	"log"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func use(lockrt.Fence) {}

func early(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	use(lease.Fence()) // want `LL1012: lease.Fence runs before anybody has checked whether Acquire at line 13 got the lock`
	if err != nil {
		return err // with a comment
	}
	defer lease.Release(ctx)
	return nil
}

func logged(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.TryAcquire(ctx, "a", lockrt.Options{})
	log.Println("fence", lease.Fence()) // want `LL1012`
	defer lease.Release(ctx)
	if err != nil {
		return err
	}
	return nil
}

func declaresBetween(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	ctx2 := lease.Context() // want `LL1012: lease.Context runs before`
	if err != nil {
		return err
	}
	defer lease.Release(ctx2)
	return nil
}

func never(ctx context.Context, l *lockrt.Locker) {
	lease, _ := l.Acquire(ctx, "a", lockrt.Options{})
	defer lease.Release(ctx)
	use(lease.Fence()) // want `LL1012`
}

// No fix: it would not be done any more where there is no lease.

func doneBetween(ctx context.Context, l *lockrt.Locker, done func()) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	defer done()
	use(lease.Fence()) // want `LL1012: lease.Fence runs before`
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	return nil
}

func leavesBetween(ctx context.Context, l *lockrt.Locker, skip bool) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if skip {
		return nil
	}
	use(lease.Fence()) // want `LL1012: lease.Fence runs before`
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	return nil
}

func countsBetween(ctx context.Context, l *lockrt.Locker, count func()) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	defer lease.Release(ctx)
	use(lease.Fence()) // want `LL1012: lease.Fence runs before`
	count()
	if err != nil {
		return err
	}
	return nil
}

// The comment above the check goes with it, the one behind the acquire stays there.
func comments(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // the lock
	use(lease.Fence())                                  // want `LL1012: lease.Fence runs before`
	// Somebody else has it.
	if err != nil {
		return err
	} // so that is that
	defer lease.Release(ctx)
	return nil
}

// Fine.

func checked(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	use(lease.Fence())
	return nil
}

func releaseFirst(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	defer lease.Release(ctx) // of no lease it does nothing
	if err != nil {
		return err
	}
	use(lease.Fence())
	return nil
}

func nilChecked(ctx context.Context, l *lockrt.Locker) {
	lease, _ := l.TryAcquire(ctx, "a", lockrt.Options{})
	if lease == nil {
		return
	}
	defer lease.Release(ctx)
	use(lease.Fence())
}

func checkedByHelper(ctx context.Context, l *lockrt.Locker, must func(error)) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	must(err)
	defer lease.Release(ctx)
	use(lease.Fence())
}

func must(ctx context.Context, l *lockrt.Locker) *lockrt.Lease {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		panic(err)
	}
	return lease
}

func noError(ctx context.Context, l *lockrt.Locker) {
	lease := must(ctx, l)
	defer lease.Release(ctx)
	use(lease.Fence())
}
