package made

import (
	"context"

	"github.com/go-redsync/redsync/v4"
)

// Who else has the object, or its mutex, may unlock it.

type keeper struct {
	now  *boxed
	copy boxed
	all  []*boxed
	by   map[string]*boxed
	ch   chan *boxed
}

func (k *keeper) stop(ctx context.Context) { k.now.Unlock(ctx) }

func literalStored(ctx context.Context, rs *redsync.Redsync, k *keeper) error {
	l := &boxed{m: rs.NewMutex("x")}
	k.now = l
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

func literalListed(ctx context.Context, rs *redsync.Redsync, k *keeper) error {
	l := &boxed{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	k.all = append(k.all, l)
	return work()
}

func literalMapped(ctx context.Context, rs *redsync.Redsync, k *keeper) error {
	l := &boxed{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	k.by["x"] = l
	return work()
}

func literalSent(ctx context.Context, rs *redsync.Redsync, k *keeper) error {
	l := &boxed{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	k.ch <- l
	return work()
}

func literalCopied(ctx context.Context, rs *redsync.Redsync) error {
	l := boxed{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	other := l
	defer other.Unlock(context.WithoutCancel(ctx))
	return work()
}

func literalCopiedAway(ctx context.Context, rs *redsync.Redsync, k *keeper) error {
	l := boxed{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	k.copy = l
	return work()
}

func literalPointedTo(ctx context.Context, rs *redsync.Redsync) error {
	l := boxed{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	p := &l
	defer p.Unlock(context.WithoutCancel(ctx))
	return work()
}

func literalStarted(ctx context.Context, rs *redsync.Redsync) error {
	l := &boxed{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	l.start(ctx)
	return work()
}

func literalFinished(ctx context.Context, rs *redsync.Redsync) error {
	l := &boxed{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	defer l.finish(context.WithoutCancel(ctx))
	return work()
}

func literalWithin(ctx context.Context, rs *redsync.Redsync) error {
	l := &boxed{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	defer l.m.UnlockContext(context.WithoutCancel(ctx))
	return work()
}

func literalOfOthers(ctx context.Context, m *redsync.Mutex) error {
	l := &boxed{m: m}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return l.Unlock(context.WithoutCancel(ctx))
}

type owner struct{ m *redsync.Mutex }

// view locks what its owner has.
type view struct{ of *owner }

func (v *view) Lock(ctx context.Context) error   { return v.of.m.LockContext(ctx) }
func (v *view) Unlock(ctx context.Context) error { _, err := v.of.m.UnlockContext(ctx); return err }

func literalView(ctx context.Context, of *owner) error {
	l := &view{of}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return l.Unlock(context.WithoutCancel(ctx))
}

func literalReused(ctx context.Context, rs *redsync.Redsync, keys []string) error {
	l := new(boxed)
	for _, key := range keys {
		l.m = rs.NewMutex(key)
		if err := l.Lock(ctx); err != nil {
			return err
		}
		_ = work()
		_ = l.Unlock(context.WithoutCancel(ctx))
	}
	return nil
}

// An object in a field is its function's to unlock where nobody else does.

type fielded struct{ l *boxed }

func (f *fielded) early(ctx context.Context) error {
	if err := f.l.Lock(ctx); err != nil { // want `LL3003: the lock from boxed.Lock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return f.l.Unlock(context.WithoutCancel(ctx))
}

func (f *fielded) right(ctx context.Context) error {
	if err := f.l.Lock(ctx); err != nil {
		return err
	}
	defer f.l.Unlock(context.WithoutCancel(ctx))
	return work()
}

type fieldedApart struct{ l *boxed }

func (f *fieldedApart) early(ctx context.Context) error {
	if err := f.l.Lock(ctx); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return f.l.Unlock(context.WithoutCancel(ctx))
}

func (f *fieldedApart) stop(ctx context.Context) { f.l.Unlock(ctx) }
