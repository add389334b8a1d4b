package ll1008

import (
	"context"
	"log/slog"

	lockrt "github.com/lockgen/lockgen/runtime"
)

type repo struct{}

func (repo) Load(ctx context.Context) error { return nil }
func (repo) Save(ctx context.Context) error { return nil }

func between(ctx context.Context, l *lockrt.Locker, r repo) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	if err := r.Load(ctx); err != nil { // want `LL1008: r.Load runs under the lock from Acquire at line 16 with the context from outside`
		return err
	}
	slog.InfoContext(ctx, "loaded")
	return r.Save(ctx)
}

func inDo(ctx context.Context, l *lockrt.Locker, r repo) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(leaseCtx context.Context, lease *lockrt.Lease) error {
		return r.Save(ctx) // want `LL1008: r.Save runs under the lock from Do at line 29`
	})
}

func unnamed(ctx context.Context, l *lockrt.Locker, r repo) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(context.Context, *lockrt.Lease) error {
		return r.Save(ctx) // want `LL1008`
	})
}

func nested(ctx context.Context, l *lockrt.Locker) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(inner context.Context, lease *lockrt.Lease) error {
		return l.Do(ctx, "b", lockrt.Options{}, func(ctx context.Context, lease *lockrt.Lease) error { return nil }) // want `LL1008: l.Do runs under the lock`
	})
}

// Fine.

func leaseContext(ctx context.Context, l *lockrt.Locker, r repo) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	return r.Save(lease.Context())
}

func replaced(ctx context.Context, l *lockrt.Locker, r repo) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	ctx = lease.Context()
	return r.Save(ctx)
}

func replacedCaptured(ctx context.Context, l *lockrt.Locker, r repo) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer func() { lease.Release(ctx) }()
	ctx = lease.Context()
	return r.Save(ctx)
}

func shadowed(ctx context.Context, l *lockrt.Locker, r repo) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error { return r.Save(ctx) })
}

func outside(ctx context.Context, l *lockrt.Locker, r repo) error {
	if err := r.Load(ctx); err != nil {
		return err
	}
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return r.Save(ctx)
	}
	if err := lease.Check(ctx); err != nil {
		return err
	}
	lease.Release(ctx)
	return r.Save(ctx)
}

func background(l *lockrt.Locker, r repo) error {
	lease, err := l.Acquire(context.Background(), "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(context.Background())
	return r.Save(context.Background())
}

func cleaning(ctx context.Context, l *lockrt.Locker, r repo) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	defer r.Save(ctx)
	return r.Load(lease.Context())
}

// In the next round the acquire runs under its own lease, which is another check's business.
func everyRound(ctx context.Context, l *lockrt.Locker) error {
	for {
		lease, err := l.Acquire(ctx, "a", lockrt.Options{})
		if err != nil {
			return err
		}
		defer lease.Release(ctx)
	}
}
