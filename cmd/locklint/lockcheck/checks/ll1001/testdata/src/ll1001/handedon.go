package ll1001

import (
	"context"
	"errors"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// One path hands the lease on, another forgets it. No fix: a deferred release would take the lease from its new owner.

type session struct{ lease *lockrt.Lease }

func openSession(ctx context.Context, l *lockrt.Locker, file string) (*session, error) {
	lease, err := l.TryAcquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from TryAcquire is not released on every path: the return at line \d+ \(when file == ""\) leaves it held$`
	if err != nil {
		return nil, err
	}
	if file == "" {
		return nil, errors.New("no file")
	}
	return &session{lease}, nil
}

func returnedLate(ctx context.Context, l *lockrt.Locker, n int) (*lockrt.Lease, error) {
	lease, err := l.TryAcquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from TryAcquire is not released on every path`
	if err != nil {
		return nil, err
	}
	if n == 3 {
		return nil, errors.New("three")
	}
	return lease, nil
}

var sessions = map[int]*lockrt.Lease{}

func entered(ctx context.Context, l *lockrt.Locker, n int) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path: the return at line \d+ \(when n == 3\) leaves it held$`
	if err != nil {
		return err
	}
	if n == 3 {
		return errors.New("three")
	}
	sessions[n] = lease
	return nil
}

func (s *session) renew(ctx context.Context, l *lockrt.Locker, n int) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path`
	if err != nil {
		return err
	}
	if n == 3 {
		return lease.Release(ctx)
	}
	if n == 4 {
		return nil
	}
	s.lease = lease
	return nil
}

func sentLate(ctx context.Context, l *lockrt.Locker, ch chan<- *lockrt.Lease, n int) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path`
	if err != nil {
		return err
	}
	if n == 3 {
		return nil
	}
	ch <- lease
	return nil
}

func startedWith(ctx context.Context, l *lockrt.Locker, n int) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path`
	if err != nil {
		return err
	}
	if n == 3 {
		return nil
	}
	go finish(ctx, lease)
	return nil
}

// Nobody else can release it, but a deferred release would end the context that is in use.

func servedBy(ctx context.Context, l *lockrt.Locker, serve func(context.Context)) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is never released`
	if err != nil {
		return err
	}
	ctx, _ = context.WithTimeout(lease.Context(), 1)
	go serve(ctx)
	return nil
}

func underLock(ctx context.Context, l *lockrt.Locker) (context.Context, error) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is never released`
	if err != nil {
		return nil, err
	}
	return context.WithValue(lease.Context(), sessions, 1), nil
}

func underLockFor(ctx context.Context, l *lockrt.Locker) (context.Context, context.CancelFunc) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is never released`
	if err != nil {
		return nil, nil
	}
	return context.WithCancel(lease.Context())
}

func checker(ctx context.Context, l *lockrt.Locker) (func() error, error) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is never released`
	if err != nil {
		return nil, err
	}
	return func() error { return lease.Check(ctx) }, nil
}

type server struct{ base context.Context }

func (s *server) listen(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is never released`
	if err != nil {
		return err
	}
	s.base = lease.Context()
	return nil
}
