package lockrt

import (
	"context"
	"sync"
	"time"
)

// This file is what Close waits for, and for how long.

// closing is what becomes of the session.
type closing struct {
	ended chan struct{}
	err   error // valid after ended
}

// awaitAcquires waits for those who have been told to give up, and who give back a crossing grant by themselves. A session
// that fails may not have told them, and is closed once more. It reports whether some still wait when the store is silent.
func (l *Locker) awaitAcquires(ctx context.Context, session *closing) (waiting bool) {
	over := make(chan struct{})
	go func() {
		l.acquiring.Wait()
		close(over)
	}()
	select {
	case <-over:
		return false
	case <-session.ended:
	}
	silent, stop := l.untilSilence(ctx, time.Second)
	defer stop()
	if session.err != nil {
		select {
		case <-over:
			return false
		default:
			_ = l.closeSession(silent) // what it says is asked for again at the end
		}
	}
	select {
	case <-over:
		return false
	case <-silent.Done():
		return true
	}
}

// awaitReturns waits for the releases that are under way, at a silent store for a second at the most, and reports whether it
// is silent. Those that begin after it are refused.
func (l *Locker) awaitReturns() (silent bool) {
	l.mu.Lock()
	l.returned = true
	l.mu.Unlock()
	over := make(chan struct{})
	go func() {
		l.returning.Wait()
		close(over)
	}()
	silence := make(chan struct{})
	defer l.onSilence(time.Second, func() { close(silence) })()
	select {
	case <-over:
		return false
	case <-silence:
		return true
	}
}

// beginReturn is called before a grant is given back to the store, and l.returning.Done after that. It reports false when
// Close has waited for the last.
func (l *Locker) beginReturn() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.returned {
		l.returning.Add(1)
	}
	return !l.returned
}

// awaitFor waits for a group, and no longer than d.
func awaitFor(d time.Duration, group *sync.WaitGroup) { awaitAlive(context.Background(), d, group) }

// awaitAlive waits for a group, until a moment after the end of ctx, and no longer than d.
func awaitAlive(ctx context.Context, d time.Duration, group *sync.WaitGroup) {
	over := make(chan struct{})
	go func() {
		group.Wait()
		close(over)
	}()
	patience := time.NewTimer(d)
	defer patience.Stop()
	select {
	case <-over:
		return
	case <-ctx.Done():
	case <-patience.C:
		return
	}
	patience.Reset(min(d, lateTime))
	select {
	case <-over:
	case <-patience.C:
	}
}
