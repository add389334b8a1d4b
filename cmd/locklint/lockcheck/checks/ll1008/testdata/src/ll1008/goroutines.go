package ll1008

import (
	"context"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// A goroutine that is started in the section may go on behind it. The lease's context ends with the release, so that the fix
// would stop it half-way: it is reported, and left to people.

func started(ctx context.Context, l *lockrt.Locker, r repo) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	go r.Save(ctx) // want `LL1008`
	return nil
}

func startedInDo(ctx context.Context, l *lockrt.Locker, r repo) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(leaseCtx context.Context, _ *lockrt.Lease) error {
		go r.Save(ctx) // want `LL1008`
		return nil
	})
}

// The fix is for all calls of a section or for none.
func startedBeside(ctx context.Context, l *lockrt.Locker, r repo) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	if err := r.Load(ctx); err != nil { // want `LL1008: r.Load`
		return err
	}
	go r.Save(ctx)
	return nil
}

type group struct{}

func (*group) Go(f func()) {}

// In a literal that somebody else may run in a goroutine nothing is reported.
func handedOver(ctx context.Context, l *lockrt.Locker, r repo, g *group) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	g.Go(func() { r.Save(ctx) })
	go func() { r.Save(ctx) }()
	return nil
}

// A go statement evaluates its arguments where it stands: what they call is part of the section, and fixed.
func evaluated(ctx context.Context, l *lockrt.Locker, r repo) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	go println(r.Load(ctx)) // want `LL1008: r.Load`
	return nil
}
