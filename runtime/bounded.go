package lockrt

import (
	"context"
	"sync"
	"time"
)

// bounds makes contexts for calls that must not last longer than maxReleaseTime. Calls that begin in the same quarter
// of a second share one timer: see expirer for what a timer for each would cost.
type bounds struct {
	base context.Context // ends when the Locker is closed, and stops the timers

	mu     sync.Mutex // guards what follows
	shared context.Context
	cancel context.CancelFunc // of shared; its timer does the work
	fresh  time.Time          // until when shared is given to new calls
}

const (
	boundsShare = 250 * time.Millisecond
	// graceTime is what a release gets after the end of its caller's context.
	graceTime = 80 * time.Millisecond
)

// context returns a context with ctx's values that ends after limit, or graceTime after the end of ctx; with a limit of
// maxReleaseTime or more, after that and up to boundsShare. The returned function must be called when the call is over.
func (b *bounds) context(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	end, cancel := b.limit(limit)
	if ctx.Done() == nil {
		return sharedContext{Context: end, values: ctx}, cancel
	}
	end, leave := context.WithCancel(end)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(graceTime, leave) })
	return sharedContext{Context: end, values: ctx}, func() { stop(); leave(); cancel() }
}

func (b *bounds) limit(limit time.Duration) (context.Context, context.CancelFunc) {
	if limit < maxReleaseTime {
		return context.WithTimeout(b.base, limit)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); now.After(b.fresh) {
		// Calls may still use the one before. It ends by itself.
		b.shared, b.cancel = context.WithTimeout(b.base, maxReleaseTime+boundsShare)
		b.fresh = now.Add(boundsShare)
	}
	return b.shared, func() {}
}

// sharedContext has the end of one context and the values of another.
type sharedContext struct {
	context.Context
	values context.Context
}

// Value implements context.Context.
func (c sharedContext) Value(key any) any { return c.values.Value(key) }
