package redisstore

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// limits makes contexts that end after callTime, or another length. Calls that begin within share of each other share
// one timer: arming one for each costs more than all the rest that a session does for an uncontended acquire.
type limits struct {
	length, share time.Duration // 0: callTime, limitShare
	cause         error         // nil: errNoAnswer

	mu     sync.Mutex // guards what follows
	shared context.Context
	cancel context.CancelFunc // of shared; its timer does the work
	fresh  time.Time          // until when shared is given to new calls
}

const limitShare = 50 * time.Millisecond

// next returns a context that ends after the length and up to the share.
func (l *limits) next() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.After(l.fresh) {
		length, share, cause := l.length, l.share, l.cause
		if length == 0 {
			length, share, cause = callTime, limitShare, errNoAnswer
		}
		// Calls may still use the one before. It ends by itself.
		l.shared, l.cancel = context.WithTimeoutCause(context.Background(), length+share, cause)
		l.fresh = now.Add(share)
	}
	return l.shared
}

// after returns a context that ends after d, or like next. The returned function must be called when the call is over.
func (l *limits) after(d time.Duration) (context.Context, context.CancelFunc) {
	if d >= callTime {
		return l.next(), func() {}
	}
	return context.WithTimeoutCause(context.Background(), d, noAnswerError(d))
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
	return limitedContext{Context: limit, values: ctx}
}

// limitedContext has the end of one context and the values of another.
type limitedContext struct {
	context.Context
	values context.Context
}

// Value implements context.Context.
func (c limitedContext) Value(key any) any { return c.values.Value(key) }

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
	if e.err == context.DeadlineExceeded || e.err == context.Canceled {
		return errNoAnswer.Error()
	}
	return errNoAnswer.Error() + ": " + e.err.Error()
}

// Is and As stand in for Unwrap.
func (e timeoutError) Is(target error) bool {
	return target != context.DeadlineExceeded && target != context.Canceled && errors.Is(e.err, target)
}

// As implements the interface of errors.As.
func (e timeoutError) As(target any) bool { return errors.As(e.err, target) }
