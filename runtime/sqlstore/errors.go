package sqlstore

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/lockgen/lockgen/internal/sqldialect"
	"github.com/lockgen/lockgen/internal/timelimit"
)

var (
	errConflict = errors.New("the lock changed hands faster than it could be read and written")
	errTooLate  = errors.New("the server refuses the request as late, again and again: does its clock jump?")
)

// retryable reports whether another try may succeed: the server is away, starts, is full, or is another one soon.
func (t *tables) retryable(err error) bool {
	switch {
	case sqldialect.IsRefusal(err) || t.IsMissing(err) || t.IsUnknownDatabase(err) || t.IsDenied(err) ||
		t.IsPooled(err) && !t.IsStale(err) || errors.Is(err, errForeign):
		return false
	}
	return t.Again(err) || t.IsReadOnly(err) || !t.IsReply(err) || t.IsOverloaded(err) || t.IsStale(err)
}

func isContext(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// mayHaveRun reports whether a statement that failed may have done its work, now or later.
func (t *tables) mayHaveRun(err error) bool {
	if err == nil {
		return true
	}
	dial := new(net.OpError)
	if errors.As(err, &dial) && dial.Op == "dial" {
		return false
	}
	return !t.IsReply(err)
}

// explain is a failed call's error as the caller gets it. Only where ctx, the caller's own, has ended it says so: our
// own limits look like that to the client.
func (t *tables) explain(ctx context.Context, err error) error { return explain(ctx, t.Help(err)) }

func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if over := timelimit.Ended(ctx); over != nil {
		if errors.Is(err, over) {
			return err
		}
		return errors.Join(over, err)
	}
	if isContext(err) {
		return timeoutError{err, errNoAnswer.Error()}
	}
	return err
}

// timeoutError hides from errors.Is that its error is one of a context.
type timeoutError struct {
	err  error
	text string
}

func (e timeoutError) Error() string {
	if e.err == context.DeadlineExceeded || e.err == context.Canceled {
		return e.text
	}
	return e.text + ": " + e.err.Error()
}

// Is and As stand in for Unwrap.
func (e timeoutError) Is(target error) bool {
	return target == errNoAnswer ||
		target != context.DeadlineExceeded && target != context.Canceled && errors.Is(e.err, target)
}

// As implements the interface of errors.As.
func (e timeoutError) As(target any) bool { return errors.As(e.err, target) }

// lostConn reports whether a connection is of no more use.
func lostConn(err error) bool {
	var network net.Error
	return isContext(err) || errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		sqldialect.MySQL.IsEnded(err) || strings.Contains(err.Error(), "bad connection") ||
		strings.Contains(err.Error(), "invalid connection") || strings.Contains(err.Error(), "conn closed")
}
