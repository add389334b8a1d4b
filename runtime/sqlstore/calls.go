package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/lockgen/lockgen/runtime/internal/workers"
)

// callTime bounds every call to the server whose caller has no nearer end.
const callTime = 5 * time.Second

var errNoAnswer = errors.New("the store did not answer within " + callTime.String())

// calls runs statements on goroutines of their own. The caller's context never reaches the driver: a statement that is
// cancelled may have run, and drivers close the connection. What a caller has left ends with its own time limit.
type calls struct{ workers.Pool }

// do runs f with a context that ends after bound, and returns f's error, or the caller's if that leaves before: then f
// still runs, and what it uses belongs to it.
func (c *calls) do(ctx context.Context, bound time.Duration, f func(ctx context.Context) error) (left bool, err error) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound)
	done := make(chan error, 1)
	c.Start(func() {
		defer cancel()
		done <- f(limited)
	})
	select {
	case err := <-done:
		return false, err
	case <-ctx.Done():
	case <-limited.Done():
	}
	select {
	case err := <-done: // in the same moment
		return false, err
	default:
	}
	if err := ctx.Err(); err != nil {
		return true, err
	}
	// The driver may take its time to notice.
	select {
	case err := <-done:
		return false, err
	case <-ctx.Done():
		return true, ctx.Err()
	case <-time.After(50 * time.Millisecond):
	}
	return true, timeoutError{limited.Err()}
}
