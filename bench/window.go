package main

import (
	"context"
	"errors"
)

// errWindowOver ends the contexts of those who still wait when the time that is measured is over.
var errWindowOver = errors.New("the time to measure is over")

// lockWithin waits for the lock until window ends, and returns one that lives on after that: who is inside when the
// time is over must be let out before the next comes in, or the guard sees an overlap that is of our making.
func (c contender) lockWithin(ctx, window context.Context, l locks, key string) (unlock func(context.Context) error, err error) {
	if !c.endsWithContext {
		return l.lock(window, key)
	}
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(window, func() { end(context.Cause(window)) })
	release, err := l.lock(ctx, key)
	switch {
	case err != nil:
		stop()
		end(nil)
		return nil, err
	case !stop():
		// The window's end came with the lock and took it away.
		return nil, errors.Join(context.Cause(window), release(ctx))
	}
	return func(ctx context.Context) error {
		defer end(nil)
		return release(ctx)
	}, nil
}

// unlessOver drops the error of a wait that ended because the time for it was over.
func unlessOver(window context.Context, err error) error {
	if cause := context.Cause(window); errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, errWindowOver) {
		return nil
	}
	return err
}
