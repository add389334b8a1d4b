package redisstore

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgen/lockgen/internal/timelimit"
)

// callShare is by how much calls that share a limit may differ.
const callShare = 50 * time.Millisecond

// limits makes contexts that end after callTime, or another length.
type limits struct {
	timelimit.Shared
	usual atomic.Pointer[usualLimit]
}

// usualLimit is the length that was asked for last. Most programs wait for the same time again and again: then a call
// shares its timer with others.
type usualLimit struct {
	length time.Duration
	timelimit.Shared
}

// usualShare is by how much the limits of calls with the same length may differ.
const usualShare = 20 * time.Millisecond

func newLimits() *limits {
	return &limits{Shared: timelimit.Shared{Length: callTime, Share: callShare, Cause: errNoAnswer}}
}

// after returns a context that ends after d, up to usualShare earlier, or like Next. The returned function must be
// called when the call is over.
func (l *limits) after(d time.Duration) (context.Context, context.CancelFunc) {
	switch usual := l.usual.Load(); {
	case d >= callTime:
		return l.Next(), func() {}
	case d <= 2*usualShare:
	case usual != nil && usual.length == d:
		return usual.Next(), func() {}
	default: // the first call of this length has a timer of its own
		usual = &usualLimit{length: d}
		usual.Length, usual.Share, usual.Cause = d-usualShare, usualShare, noAnswerError(d)
		l.usual.Store(usual)
	}
	own := &ownLimit{end: time.Now().Add(d), cause: noAnswerError(d)}
	return own, own.stop
}

// more is after for a call that has waited for callTime already.
func (l *limits) more(d time.Duration) (context.Context, context.CancelFunc) {
	own := &ownLimit{end: time.Now().Add(d), cause: errNoAnswer}
	return own, own.stop
}

// ownLimit is the limit of one call. It has a timer if somebody waits for its end: a call that is made in its caller's
// goroutine needs none.
type ownLimit struct {
	end    time.Time
	cause  error
	began  sync.Once
	ctx    context.Context // made by began
	cancel context.CancelFunc
}

func (l *ownLimit) begin() {
	l.began.Do(func() {
		l.ctx, l.cancel = context.WithDeadlineCause(context.Background(), l.end, l.cause)
	})
}

func (l *ownLimit) stop() {
	l.began.Do(func() { l.ctx, l.cancel = closedLimit, func() {} })
	l.cancel()
}

// closedLimit is the context of a limit that is stopped before anybody waits for it.
var closedLimit = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Deadline implements context.Context.
func (l *ownLimit) Deadline() (time.Time, bool) { return l.end, true }

// Done implements context.Context.
func (l *ownLimit) Done() <-chan struct{} {
	l.begin()
	return l.ctx.Done()
}

// Err implements context.Context.
func (l *ownLimit) Err() error {
	l.begin()
	return l.ctx.Err()
}

// Value implements context.Context.
func (l *ownLimit) Value(key any) any {
	l.begin()
	return l.ctx.Value(key)
}

// noAnswerError is errNoAnswer with another time.
type noAnswerError time.Duration

func (e noAnswerError) Error() string {
	return "the store did not answer within " + time.Duration(e).Round(time.Millisecond).String()
}

// bounded returns a context that ends with ctx, or after callTime.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, callTime, errNoAnswer)
}

// callContext is what the client gets for a call that is over with ctx or with limit, whichever is first. It has the
// values of ctx and a deadline. It need not end when ctx is cancelled: the client does not heed that once the request
// is sent, and a context for each call would have to be told by its parent, one by one.
func callContext(ctx, limit context.Context) context.Context {
	if end, ok := ctx.Deadline(); ok {
		if last, _ := limit.Deadline(); end.Before(last) {
			return ctx
		}
	}
	return timelimit.WithValues(limit, ctx)
}

// explain is a failed call's error as the caller gets it. Where ctx, the caller's own, has ended, it says so: the
// client reports that as a time-out of its connection, too. Where it lives, nothing says that it has ended: the
// client's time-outs and ours look like that.
func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if over := ended(ctx, err); over != nil {
		if errors.Is(err, over) {
			return err
		}
		return errors.Join(over, err)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return timeoutError{err}
	}
	return err
}

// timeoutError hides from errors.Is that its error is one of a context.
type timeoutError struct{ err error }

func (e timeoutError) Error() string {
	if dial := new(net.OpError); errors.As(e.err, &dial) {
		return e.err.Error()
	}
	said := e.err.Error()
	for _, over := range []error{context.DeadlineExceeded, context.Canceled} {
		said = strings.TrimSuffix(strings.TrimSuffix(said, over.Error()), ": ")
	}
	if said == "" {
		return errNoAnswer.Error()
	}
	return errNoAnswer.Error() + ": " + said
}

// Is and As stand in for Unwrap.
func (e timeoutError) Is(target error) bool {
	return target != context.DeadlineExceeded && target != context.Canceled && errors.Is(e.err, target)
}

// As implements the interface of errors.As.
func (e timeoutError) As(target any) bool { return errors.As(e.err, target) }
