package ll1001

import (
	"context"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Options may stand in a variable.

var (
	usual   = lockrt.Options{TTL: time.Minute}
	limits  = lockrt.Options{TTL: time.Minute, NoRenew: true}
	changed = lockrt.Options{TTL: time.Minute}
)

func init() { changed.NoRenew = true }

func usually(ctx context.Context, l *lockrt.Locker) error {
	_, err := l.Acquire(ctx, "a", usual) // want `LL1001: the lease from Acquire is never released`
	return err
}

func usuallyInLiteral(ctx context.Context, l *lockrt.Locker, each func(func() error) error) error {
	options := lockrt.Options{TTL: time.Minute}
	return each(func() error {
		_, err := l.Acquire(ctx, "a", options) // want `LL1001: the lease from Acquire is never released`
		return err
	})
}

// Rate limits, or so they may be.

func limited(ctx context.Context, l *lockrt.Locker) error {
	_, err := l.Acquire(ctx, "a", limits)
	return err
}

func perhapsLimited(ctx context.Context, l *lockrt.Locker) error {
	_, err := l.Acquire(ctx, "a", changed)
	return err
}

func limitedInLiteral(ctx context.Context, l *lockrt.Locker, each func(func() error) error) error {
	options := lockrt.Options{TTL: time.Minute}
	options.NoRenew = true
	return each(func() error {
		_, err := l.Acquire(ctx, "a", options)
		return err
	})
}
