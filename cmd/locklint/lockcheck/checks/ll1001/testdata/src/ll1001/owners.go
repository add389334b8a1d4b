package ll1001

import (
	"context"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// The lease goes to somebody else.

type holder struct{ lease *lockrt.Lease }

func (h *holder) start(ctx context.Context, l *lockrt.Locker) (err error) {
	h.lease, err = l.Acquire(ctx, "a", lockrt.Options{})
	return err
}

func newHolder(ctx context.Context, l *lockrt.Locker) (*holder, error) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return nil, err
	}
	return &holder{lease}, nil
}

func sent(ctx context.Context, l *lockrt.Locker, ch chan<- *lockrt.Lease) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	ch <- lease
	return nil
}

func unknownTaker(ctx context.Context, l *lockrt.Locker, take func(any)) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	take(lease)
	return nil
}

func started(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	go func() {
		defer lease.Release(ctx)
		work()
	}()
	return nil
}

func outward(ctx context.Context, l *lockrt.Locker) *lockrt.Lease {
	var out *lockrt.Lease
	func() {
		lease, err := l.Acquire(ctx, "a", lockrt.Options{})
		if err == nil {
			out = lease
		}
	}()
	return out
}

// Returned: the caller's business.

func acquire(ctx context.Context, l *lockrt.Locker) (*lockrt.Lease, error) {
	return l.Acquire(ctx, "a", lockrt.Options{})
}

func acquireChecked(ctx context.Context, l *lockrt.Locker) (*lockrt.Lease, bool) {
	lease, err := l.TryAcquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return nil, false
	}
	return lease, true
}

func callerLeaks(ctx context.Context, l *lockrt.Locker) error {
	lease, err := acquire(ctx, l) // want `LL1001: the lease from acquire is never released`
	if err != nil {
		return err
	}
	return lease.Check(ctx)
}

func callerReleases(ctx context.Context, l *lockrt.Locker) error {
	lease, err := acquire(ctx, l)
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	return nil
}

func flagLeaks(ctx context.Context, l *lockrt.Locker) {
	lease, ok := acquireChecked(ctx, l) // want `LL1001: the lease from acquireChecked is never released`
	if !ok {
		return
	}
	lease.Check(ctx)
}

func flagReleases(ctx context.Context, l *lockrt.Locker) {
	if lease, ok := acquireChecked(ctx, l); ok {
		lease.Release(ctx)
	}
}

func acquireIfFree(ctx context.Context, l *lockrt.Locker) *lockrt.Lease {
	lease, err := l.TryAcquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return nil
	}
	return lease
}

func onlyLeaks(ctx context.Context, l *lockrt.Locker) {
	if lease := acquireIfFree(ctx, l); lease != nil { // want `LL1001: the lease from acquireIfFree is never released`
		lease.Check(ctx)
	}
}

func onlyReleases(ctx context.Context, l *lockrt.Locker) {
	if lease := acquireIfFree(ctx, l); lease != nil {
		lease.Release(ctx)
	}
}

// Sometimes somebody else's lease: not the caller's to release.

func (h *holder) current(ctx context.Context, l *lockrt.Locker) (*lockrt.Lease, error) {
	if h.lease != nil {
		return h.lease, nil
	}
	return l.Acquire(ctx, "a", lockrt.Options{})
}

func (h *holder) use(ctx context.Context, l *lockrt.Locker) error {
	lease, err := h.current(ctx, l)
	if err != nil {
		return err
	}
	return lease.Check(ctx)
}

// Helpers.

func finish(ctx context.Context, lease *lockrt.Lease) {
	if lease == nil {
		return
	}
	lease.Release(ctx)
}

func inspect(ctx context.Context, lease *lockrt.Lease) bool { return lease.Check(ctx) == nil }

func sometimes(ctx context.Context, lease *lockrt.Lease, n int) {
	if n > 0 {
		lease.Release(ctx)
	}
}

func finished(ctx context.Context, l *lockrt.Locker) error {
	lease, err := acquire(ctx, l)
	if err != nil {
		return err
	}
	defer finish(ctx, lease)
	return nil
}

func inspected(ctx context.Context, l *lockrt.Locker) error {
	lease, err := acquire(ctx, l) // want `LL1001: the lease from acquire is never released`
	if err != nil {
		return err
	}
	inspect(ctx, lease)
	return nil
}

func doubtful(ctx context.Context, l *lockrt.Locker) error {
	lease, err := acquire(ctx, l)
	if err != nil {
		return err
	}
	sometimes(ctx, lease, 1)
	return nil
}

func borrowedByLiteral(ctx context.Context, l *lockrt.Locker, run func(func() error) error) error {
	lease, err := acquire(ctx, l) // want `LL1001: the lease from acquire is never released`
	if err != nil {
		return err
	}
	return run(func() error { return lease.Check(ctx) })
}

func generic[T any](ctx context.Context, l *lockrt.Locker, v T) (T, error) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is never released`
	if err != nil {
		return v, err
	}
	_ = lease
	return v, nil
}

func triesWithoutError(ctx context.Context, l *lockrt.Locker) {
	lease := mustAcquire(ctx, l)
	for range 3 {
		if err := lease.Release(ctx); err != nil {
			println(err.Error())
		}
	}
}

func mustAcquire(ctx context.Context, l *lockrt.Locker) *lockrt.Lease {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		panic(err)
	}
	return lease
}

// The lease in a variable of another type.

type releaser interface{ Release(context.Context) error }

func asInterface(ctx context.Context, l *lockrt.Locker, given releaser) error {
	if given == nil {
		lease, err := l.Acquire(ctx, "a", lockrt.Options{})
		if err != nil {
			return err
		}
		given = lease
	}
	defer given.Release(ctx)
	return nil
}

func asCapturedInterface(ctx context.Context, l *lockrt.Locker) error {
	var r releaser
	defer func() {
		if r != nil {
			r.Release(ctx)
		}
	}()
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	r = lease
	return nil
}

// Flags that start at their zero value.

func unlessDone(ctx context.Context, l *lockrt.Locker) error {
	var done bool
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if !done {
			lease.Release(ctx)
		}
	}()
	if err := work(); err != nil {
		return err
	}
	done = true
	return lease.Release(ctx)
}

// A flag that somebody else sets says nothing.

func elsewhere(ctx context.Context, l *lockrt.Locker, run func(func())) error {
	failed := false
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path: the return at line [0-9]+ \(when failed\)`
	if err != nil {
		return err
	}
	run(func() { failed = true })
	if failed {
		return nil
	}
	return lease.Release(ctx)
}

// What a loop tests changes in the loop, even if it was tested before.

type runner struct{ running bool }

func (r *runner) loop(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path: the return at line [0-9]+ \(when started\)`
	if err != nil {
		return err
	}
	if r.running {
		work()
	}
	started := false
	for r.running {
		started = true
	}
	if started {
		return nil
	}
	return lease.Release(ctx)
}

func finishIfAny(ctx context.Context, lease *lockrt.Lease) {
	if lease == nil {
		return
	}
	lease.Release(ctx)
}

func finishesIfAny(ctx context.Context, l *lockrt.Locker, paid bool) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: .*when paid`
	if err != nil {
		return err
	}
	if paid {
		return nil
	}
	finishIfAny(ctx, lease)
	return nil
}

func busyFirst(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.TryAcquire(ctx, "a", lockrt.Options{})
	if lockrt.ErrBusy == err {
		return nil
	}
	if err != nil {
		return err
	}
	return lease.Release(ctx)
}
