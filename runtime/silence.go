package lockrt

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lockgen/lockgen/runtime/internal/timelimit"
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

// stays notes that a grant which others than Close give back may stay at the store, or that it does not.
func (l *Locker) stays(g *grant, may bool) {
	if l.heard.Load() == nil { // it is not closed
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.staying == nil {
		l.staying = make(map[*grant]bool)
	}
	if delete(l.staying, g); may {
		l.staying[g] = true
	}
}

// silence watches for a store that does not answer.
type silence struct {
	over chan struct{} // closed when it has not answered for too long
	stop func()
}

// onSilence calls f when the store has not answered any release for callTime and some more, since Close began.
func (l *Locker) onSilence(more time.Duration, f func()) silence {
	s := silence{over: make(chan struct{})}
	var timer *time.Timer
	var mu sync.Mutex
	look := func() {
		mu.Lock()
		defer mu.Unlock()
		if left := time.Until(l.heard.Load().Add(callTime + more)); left > 0 {
			timer.Reset(left)
			return
		}
		f()
		close(s.over)
	}
	mu.Lock()
	timer = time.AfterFunc(max(time.Until(l.heard.Load().Add(callTime+more)), 0), look)
	mu.Unlock()
	s.stop = func() { timer.Stop() }
	return s
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
