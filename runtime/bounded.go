package lockrt

import (
	"context"
	"time"

	"github.com/lockgen/lockgen/internal/timelimit"
)

// callTime bounds every call to the store whose caller has no nearer end.
const callTime = 5 * time.Second

// limitShare is by how much the limits of calls may differ that share one.
const limitShare = 20 * time.Millisecond

// bounds makes contexts for calls that must not last longer than callTime.
type bounds struct{ timelimit.Shared }

// graceTime is what a release gets after the end of its caller's context.
const graceTime = 80 * time.Millisecond

// begin has the limits end with base, too.
func (b *bounds) begin(base context.Context) {
	b.Base, b.Length, b.Share = base, callTime, limitShare
}

// context returns a context with ctx's values that ends after limit, or graceTime after the end of ctx; with a limit of
// callTime or more, after that and up to the share. The returned function must be called when the call is over.
func (b *bounds) context(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	end, cancel := b.limit(limit)
	ctx = callerOf(ctx)
	if ctx.Done() == nil {
		return timelimit.WithValues(end, ctx), cancel
	}
	end, leave := context.WithCancel(end)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(graceTime, leave) })
	return endOf{Context: timelimit.WithValues(end, ctx), caller: ctx}, func() { stop(); leave(); cancel() }
}

// endOf is a context whose end is told as that of the caller's, if that has ended.
type endOf struct {
	context.Context
	caller context.Context
}

// Err implements context.Context.
func (c endOf) Err() error {
	err := c.Context.Err()
	if err != nil && c.caller.Err() != nil {
		return c.caller.Err()
	}
	return err
}

// AfterFunc is that of what it stands for, see [timelimit.WithValues].
func (c endOf) AfterFunc(f func()) (stop func() bool) { return context.AfterFunc(c.Context, f) }

func (b *bounds) limit(limit time.Duration) (context.Context, context.CancelFunc) {
	if limit < callTime {
		return context.WithTimeout(b.Base, limit)
	}
	return b.Next(), func() {}
}
