package ll1001

import (
	"context"
	"errors"
	"fmt"
	"os"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// The deferred literal releases unless the function succeeds, and the lease is handed over where it does.

func namedError(ctx context.Context, l *lockrt.Locker) (_ *session, err error) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = lease.Release(ctx)
		}
	}()
	_, err = os.Open("x")
	if err != nil {
		return nil, err
	}
	return &session{lease}, nil
}

func shadowed(ctx context.Context, l *lockrt.Locker, file string) (_ *session, err error) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err == nil {
			return
		}
		_ = lease.Release(ctx)
	}()
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	return &session{lease}, nil
}

var errTooMany = errors.New("too many")

func newErrors(ctx context.Context, l *lockrt.Locker, n int) (_ *session, err error) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = lease.Release(ctx)
		}
	}()
	if n == 3 {
		return nil, errors.New("three")
	}
	if n == 4 {
		return nil, errTooMany
	}
	if err := work(); err != nil {
		return nil, fmt.Errorf("work: %w", err)
	}
	if err := work(); err != nil {
		return nil, explain(err)
	}
	if err := work(); err != nil {
		return nil, errors.Join(errors.New("second"), err)
	}
	if err := work(); errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err = work(); err == os.ErrExist {
		return nil, err
	} else if err != nil && n > 3 {
		return
	}
	return &session{lease}, nil
}

func explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("failed: %w", err)
}

func nilHandle(ctx context.Context, l *lockrt.Locker) (s *session, err error) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return nil, err
	}
	defer func() {
		if s == nil {
			_ = lease.Release(ctx)
		}
	}()
	if err := work(); err != nil {
		return nil, err
	}
	s = &session{lease}
	return s, nil
}

func keptFlag(ctx context.Context, l *lockrt.Locker) (err error) {
	lease, lockErr := l.Acquire(ctx, "a", lockrt.Options{})
	locked := lockErr == nil
	defer func() {
		if locked {
			err = errors.Join(err, lease.Release(ctx))
		}
	}()
	if !locked {
		return lockErr
	}
	return lease.Check(ctx)
}

func keptFailure(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	failed := err != nil
	defer func() {
		if !failed {
			_ = lease.Release(ctx)
		}
	}()
	if failed {
		return err
	}
	return lease.Check(ctx)
}

func keptInBoth(ctx context.Context, l *lockrt.Locker, use bool) error {
	locked := false
	var lease *lockrt.Lease
	defer func() {
		if locked {
			_ = lease.Release(ctx)
		}
	}()
	if use {
		var err error
		lease, err = l.Acquire(ctx, "a", lockrt.Options{})
		if locked = err == nil; !locked {
			return err
		}
	}
	return work()
}

// Some path does neither.

func successForgets(ctx context.Context, l *lockrt.Locker, n int) (_ *session, err error) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path: the return at line \d+ \(when n == 3\) leaves it held$`
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = lease.Release(ctx)
		}
	}()
	if n == 3 {
		return nil, nil
	}
	return &session{lease}, nil
}

func unnamed(ctx context.Context, l *lockrt.Locker, file string) (*session, error) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path: the return at line \d+ \(when err != nil\) leaves it held$`
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil { // not the error that is returned below
			_ = lease.Release(ctx)
		}
	}()
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	return &session{lease}, nil
}

func perhapsNil(ctx context.Context, l *lockrt.Locker) (err error) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path`
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = lease.Release(ctx)
		}
	}()
	return work()
}

func forgiven(ctx context.Context, l *lockrt.Locker) (_ *session, err error) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path`
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = lease.Release(ctx)
		}
	}()
	if err := work(); err != nil {
		return nil, forgive(err)
	}
	return &session{lease}, nil
}

func forgive(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func overwritten(ctx context.Context, l *lockrt.Locker) (s *session, err error) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path`
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = lease.Release(ctx)
		}
	}()
	if err = work(); err != nil {
		err = work()
		return nil, err
	}
	return &session{lease}, nil
}

func wrongSide(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path`
	failed := err != nil
	defer func() {
		if failed {
			_ = lease.Release(ctx)
		}
	}()
	if failed {
		return err
	}
	return lease.Check(ctx)
}
