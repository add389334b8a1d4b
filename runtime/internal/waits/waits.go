// Package waits is what the waits of all stores have in common: how long they last, what the server said last, and the
// error with which they end.
package waits

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/timelimit"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Grace is how much longer than a wait its questions may take: the answer to the first of a short one says who holds the lock.
const Grace = 50 * time.Millisecond

// Why a lock that was granted is not the caller's.
var (
	ErrTooLate = errors.New("the lock was granted and its lease over before that was known; is the store or this " +
		"process overloaded?")
	ErrBroken = fmt.Errorf("%w: it was broken before its grant was known", lockrt.ErrLost)
)

// State is that of one Acquire that waits.
type State struct {
	Req     lockrt.Request
	Until   time.Time         // zero: no end
	Endless bool              // it waits for as long as the store answers, and no longer
	Busy    *lockrt.BusyError // the last word of the server, if that named a holder
	Down    error             // why the server could not be asked, the last time; nil: it could
	Since   time.Time         // since when it cannot
}

// Begin is the state of a wait that begins now.
func Begin(ctx context.Context, req lockrt.Request) State {
	s := State{Req: req, Endless: req.Wait == lockrt.Forever && ctx.Done() == nil}
	if req.Wait != lockrt.Forever {
		s.Until = time.Now().Add(req.Wait)
	}
	return s
}

// Left is how long a question may take that is asked now, where one may take most.
func (s *State) Left(most time.Duration) time.Duration {
	if s.Until.IsZero() {
		return most
	}
	return min(most, max(time.Until(s.Until), 0)+Grace)
}

// Over reports whether the time of the wait is over.
func (s *State) Over() bool { return !s.Until.IsZero() && !time.Now().Before(s.Until) }

// Budget returns a channel that says when the time is over, nil if it has no end. Call stop when it is not needed any
// more.
func (s *State) Budget() (over <-chan time.Time, stop func()) {
	if s.Until.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(time.Until(s.Until))
	return timer.C, func() { timer.Stop() }
}

// Tell lets the Locker know what the store said.
func Tell(req lockrt.Request, busy *lockrt.BusyError, err error) {
	if req.Told != nil {
		req.Told(busy, err)
	}
}

// Heard is for a server that answers. busy is who holds the lock; nil: it did not say.
func (s *State) Heard(busy *lockrt.BusyError) {
	s.Down, s.Since = nil, time.Time{}
	if busy != nil {
		s.Busy = busy
		Tell(s.Req, busy, nil)
	}
}

// Unheard is for a server that did not answer a question that was asked at some time, and may answer the next. It
// reports whether a wait without any end has had no answer for patience.
func (s *State) Unheard(err error, asked time.Time, patience time.Duration) bool {
	if s.Since.IsZero() {
		s.Since = asked
	}
	s.Down = err
	return s.Endless && time.Since(s.Since) >= patience
}

// Outcome is the error of a wait that is over: a store that cannot be asked, or a busy lock. err is for one that is
// neither; nil: its grants came too late.
func (s *State) Outcome(err error) error {
	switch {
	case s.Down != nil:
		return s.Down
	case s.Busy != nil:
		return s.Busy
	case err != nil:
		return err
	}
	return ErrTooLate
}

// Late is Outcome if the wait is over, or nil.
func (s *State) Late(ctx context.Context) error {
	if ctx.Err() != nil || s.Over() {
		return s.Outcome(nil)
	}
	return nil
}

// End is the error of a wait that ends with err, as the caller gets it. inner is the context of the wait: a cause of
// its own is that the session closed, or that the lease was broken. kept reports whether the place in the queue may be
// left to another caller.
func (s *State) End(ctx, inner context.Context, err error) (why error, kept bool) {
	cause := context.Cause(inner) // before the other, which ends it too
	switch ended := timelimit.Ended(ctx); {
	case ended != nil:
		if why = s.Outcome(nil); why == ErrTooLate {
			why = nil
		}
		return errors.Join(ended, why), true
	case errors.Is(cause, lockrt.ErrClosed):
		return lockrt.ErrClosed, false
	case cause != nil:
		return fmt.Errorf("%w: %w", lockrt.ErrLost, cause), false
	}
	return err, s.Over()
}

// Current reports whether a grant may still be in force. One that came so late that its lease is over says nothing
// about the present: another owner may have come and gone, and the waiter may stand in the queue again.
func Current(g lockrt.Grant, req lockrt.Request) bool {
	ttl := req.TTL
	if g.TTL != 0 {
		ttl = g.TTL
	}
	return time.Since(g.Start) < ttl
}
