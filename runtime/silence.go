package lockrt

import (
	"context"
	"errors"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/timelimit"
)

// This file is how Close knows that a store does not answer.

// soon is an answer of a store that more releases at a time do not make late.
const soon = time.Second

// hears is told of what the store has said, or of a call that came to its end without that. A failure that takes its time may
// be one of the client, for want of an answer.
func (l *Locker) hears(ctx context.Context, began time.Time, err error) {
	if l.heard.Load() == nil { // it is not closed
		return
	}
	answer := err == nil || errors.Is(err, ErrLost)
	if !answer && ctx.Err() == nil && time.Since(began) < soon {
		answer = !errors.Is(err, timelimit.ErrNoAnswer) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
	}
	if answer {
		l.heard.Store(new(time.Now()))
	}
}

// onSilence has f called when the store has not answered for callTime and some more, since Close began, unless stop is
// called before.
func (l *Locker) onSilence(more time.Duration, f func()) (stop func()) {
	ctx, stop := context.WithCancel(context.Background())
	left := func() time.Duration { return time.Until(l.heard.Load().Add(callTime + more)) }
	go func() {
		for wait := left(); wait > 0; wait = left() {
			if !pace.Sleep(ctx, wait) {
				return
			}
		}
		f()
	}()
	return stop
}

// untilSilence returns a context that ends with errSilent when onSilence would call a function.
func (l *Locker) untilSilence(ctx context.Context, more time.Duration) (_ context.Context, stop func()) {
	until, silent := context.WithCancelCause(ctx)
	over := l.onSilence(more, func() { silent(errSilent) })
	return silenceContext{until}, func() {
		over()
		silent(nil)
	}
}

// silenceContext ends with errSilent, and not as if somebody had cancelled it.
type silenceContext struct{ context.Context }

// Err implements context.Context.
func (c silenceContext) Err() error {
	if context.Cause(c.Context) == errSilent {
		return errSilent
	}
	return c.Context.Err()
}

var errSilent error = silentError("the store did not answer for " + callTime.String())
