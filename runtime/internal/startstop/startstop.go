// Package startstop begins and ends a session of a store: it lets callers in, runs the goroutines of the session, and
// ends both once.
package startstop

import (
	"context"
	"sync"
	"time"
)

// Gate is the way into one session. Its methods may be called concurrently.
type Gate struct {
	ctx   context.Context
	stop  context.CancelFunc
	ended chan struct{}

	mu       sync.Mutex     // guards what follows
	closedAt time.Time      // zero: it is open
	inside   sync.WaitGroup // Add only while it is open, as to running
	running  sync.WaitGroup
}

// New returns an open gate.
func New() *Gate {
	ctx, stop := context.WithCancel(context.Background())
	return &Gate{ctx: ctx, stop: stop, ended: make(chan struct{})}
}

// Context ends when Close begins.
func (g *Gate) Context() context.Context { return g.ctx }

// Enter lets a caller in, who calls Leave at the end. It reports false once Close has begun.
func (g *Gate) Enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	open := g.closedAt.IsZero()
	if open {
		g.inside.Add(1)
	}
	return open
}

// Leave is for a caller that Enter has let in.
func (g *Gate) Leave() { g.inside.Done() }

// Empty waits until all callers have left. Call it after Close has begun.
func (g *Gate) Empty() { g.inside.Wait() }

// Go runs a goroutine of the session, which ends with Context. Once Close has begun it does nothing.
func (g *Gate) Go(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closedAt.IsZero() {
		g.running.Go(f)
	}
}

// Stopped waits until all goroutines of the session have ended. Call it after Close has begun.
func (g *Gate) Stopped() { g.running.Wait() }

// ClosedAt is when Close began. It is set when Context ends, and zero before.
func (g *Gate) ClosedAt() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closedAt
}

// Close lets nobody in any more, ends Context, and has end called in the background, which does what is left. Only the
// end of the first call is called. All calls wait until it is done, or return the error of their ctx.
func (g *Gate) Close(ctx context.Context, end func()) error {
	if g.shut() {
		go func() {
			end()
			close(g.ended)
		}()
	}
	select {
	case <-g.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// shut reports whether it was open.
func (g *Gate) shut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closedAt.IsZero() {
		return false
	}
	g.closedAt = time.Now()
	g.stop()
	return true
}
