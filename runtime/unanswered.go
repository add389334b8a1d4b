package lockrt

import (
	"context"
	"errors"
	"time"

	"github.com/lockgen/lockgen/internal/timelimit"
)

// unanswered is the error of a call that ended with a limit of ours, or with that of another caller. It keeps what the
// store's client said, and does not look like the end of the caller's context. limit may be 0 where it is not known.
func unanswered(err error, limit time.Duration) error {
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return err
	}
	if err = withoutContext(err); err != nil {
		return limitError{err}
	}
	if limit > 0 {
		return silentError("the store did not answer within " + limit.Round(time.Millisecond).String())
	}
	return timelimit.ErrNoAnswer
}

// silentError stands for a store that has not answered, as all errors do that are timelimit.ErrNoAnswer.
type silentError string

func (e silentError) Error() string { return string(e) }

// Is implements the interface of errors.Is.
func (e silentError) Is(target error) bool { return target == timelimit.ErrNoAnswer }

// unfinished is the error of a call that ended with ctx, the caller's, or with a limit of ours. The end of the one does
// not look like that of the other, also if both have come.
func unfinished(ctx context.Context, err error, limit time.Duration) error {
	over := timelimit.Ended(ctx)
	if over != nil && errors.Is(err, over) && !saysOther(err, over) {
		return err
	}
	return withContext(ctx, unanswered(err, limit))
}

// saysOther reports whether an error says in which way a context has ended, other than the caller's.
func saysOther(err, over error) bool {
	for _, way := range []error{context.DeadlineExceeded, context.Canceled} {
		if way != over && errors.Is(err, way) {
			return true
		}
	}
	return false
}

// withoutContext removes the errors of contexts from joined errors; nil if nothing else is left.
func withoutContext(err error) error {
	if err == context.DeadlineExceeded || err == context.Canceled {
		return nil
	}
	if inner := errors.Unwrap(err); inner != nil && withoutContext(inner) == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	var rest []error
	for _, part := range joined.Unwrap() {
		rest = append(rest, withoutContext(part))
	}
	return errors.Join(rest...)
}

// limitError hides from errors.Is that its error wraps that of a context.
type limitError struct{ err error }

func (e limitError) Error() string { return e.err.Error() }

// Is stands in for Unwrap, with As.
func (e limitError) Is(target error) bool {
	return target == timelimit.ErrNoAnswer || target != context.DeadlineExceeded && target != context.Canceled && errors.Is(e.err, target)
}

// As implements the interface of errors.As.
func (e limitError) As(target any) bool { return errors.As(e.err, target) }

// othersError is what the store said to one caller, for others: the end of that one's context is not theirs.
func othersError(err error) error {
	if err == nil {
		return nil
	}
	return unanswered(err, 0)
}
