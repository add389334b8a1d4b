package etcdstore

import (
	"context"
	"sync"
	"time"

	"github.com/lockgen/lockgen/internal/timelimit"
)

// The limits of calls. Arming a timer for each call costs about as much as the rest of it.
var (
	callLimit    = timelimit.Shared{Length: callTime, Share: callShare, Cause: errNoAnswer}
	attemptLimit = timelimit.Shared{Length: attemptTime, Share: attemptTime / 10, Cause: errNoAnswer}
)

// untilLost returns a context that ends with ctx, or when an attempt has had its time, the limit, and is lost.
func (s *session) untilLost(
	ctx context.Context, sent time.Time, limit time.Duration,
) (context.Context, context.CancelFunc) {
	end, over := attemptLimit.Next(), func() {}
	if limit != attemptTime {
		end, over = context.WithTimeoutCause(context.Background(), limit, errNoAnswer)
	}
	limited, cancel := context.WithCancelCause(within(ctx, end))
	stop := context.AfterFunc(end, func() {
		defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })() // what within has left out
		s.lost(limited, sent)                                                 // not ctx: the attempt may be over before
		cancel(errNoAnswer)
	})
	return limited, func() {
		stop()
		over()
		cancel(nil)
	}
}

// until returns a context that ends with ctx or limit.
func until(ctx, limit context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(limit, func() { cancel(context.Cause(limit)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// bounded returns a context that ends with ctx, or after callTime.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	c := &boundedContext{Context: ctx, limit: callLimit.Next()}
	return c, c.end
}

// boundedContext is what [until] makes of a context and a limit, made when somebody asks for its end. Most calls have
// their answer in the first attempt, which ends before.
type boundedContext struct {
	context.Context // the caller's
	limit           context.Context

	mu     sync.Mutex // guards what follows
	over   bool
	whole  context.Context // nil: nobody has asked
	cancel context.CancelFunc
}

// within is the context from which that of an attempt with a limit of its own may be made: what ends ctx later than that
// is left out.
func within(ctx, limit context.Context) context.Context {
	c, ok := ctx.(*boundedContext)
	if !ok {
		return ctx
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	own, _ := limit.Deadline()
	if end, _ := c.limit.Deadline(); c.over || end.Before(own) {
		return ctx
	}
	return c.Context
}

func (c *boundedContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over = true; c.whole != nil {
		c.cancel()
	}
}

// Done implements context.Context.
func (c *boundedContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.whole == nil {
		if c.whole, c.cancel = until(c.Context, c.limit); c.over {
			c.cancel()
		}
	}
	return c.whole.Done()
}

// Err implements context.Context.
func (c *boundedContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch err := c.Context.Err(); {
	case c.whole != nil:
		return c.whole.Err()
	case err != nil:
		return err
	case c.over || c.limit.Err() != nil:
		return context.Canceled
	}
	return nil
}

// Value implements context.Context, and lets the package context find the cause of the end.
func (c *boundedContext) Value(key any) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.whole != nil {
		return c.whole.Value(key)
	}
	return c.Context.Value(key)
}
