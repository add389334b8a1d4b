package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
	"github.com/lockgen/lockgen/runtime/internal/workers"
)

// callTime bounds every call to the server whose caller has no nearer end.
const callTime = 5 * time.Second

// errNoAnswer is what every timeoutError is.
var errNoAnswer = errors.New("the store did not answer in time")

// calls runs statements on goroutines of their own. The caller's context never reaches the driver: a statement that is
// cancelled may have run, and drivers close the connection. What a caller has left ends with its own time limit.
type calls struct {
	workers.Pool
	store *Store
}

// driverGrace is how long a driver may take to notice that the time of a call is over.
const driverGrace = 50 * time.Millisecond

// do runs f with a context that ends after callTime, and returns f's error. If ctx ends before, or bound is over, the
// caller leaves: then f still runs, and what it uses belongs to it.
func (c *calls) do(ctx context.Context, bound time.Duration, f func(ctx context.Context) error) (left bool, err error) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	done := make(chan error, 1)
	c.Start(func() {
		defer cancel()
		done <- f(limited)
	})
	patience := bound
	if bound >= callTime {
		patience += driverGrace
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case err := <-done:
		return false, c.timedOut(ctx, bound, err)
	case <-ctx.Done():
	case <-late.C:
	}
	select {
	case err := <-done: // in the same moment
		return false, c.timedOut(ctx, bound, err)
	default:
	}
	if err := ctx.Err(); err != nil {
		return true, err
	}
	return true, c.timedOut(ctx, bound, context.DeadlineExceeded)
}

// timedOut says of an error of our own limit what it is. The caller's context has not ended.
func (c *calls) timedOut(ctx context.Context, bound time.Duration, err error) error {
	if !isContext(err) || ctx.Err() != nil {
		return err
	}
	return c.store.newTimeout(err, bound)
}

// newTimeout says that there was no answer within a time, and what may be why: a writer that keeps the file of SQLite from
// all others, or that all connections of the pool are in use.
func (s *Store) newTimeout(err error, after time.Duration) timeoutError {
	text := fmt.Sprintf("the store did not answer within %s", after.Round(time.Millisecond))
	why := s.whySilent()
	if why != "" {
		text += ": " + why
	}
	if all := s.allInUse(); all != "" && why != "" {
		text += " (" + all + ", as they are when they wait for it; if nobody holds it, give the locks a pool of their own)"
	} else if all != "" {
		text += ", and " + all + ": if the server answers others, raise SetMaxOpenConns, or give the locks a pool of their own"
	}
	return timeoutError{err, text}
}

// whySilent is what keeps the database as a rule, "" if nothing is known.
func (s *Store) whySilent() string {
	if t := s.known.Load(); t != nil {
		return t.WhySilent()
	}
	return sqldialect.Dialect(s.cfg.Dialect).WhySilent()
}

// allInUse says that all connections of the pool are in use, or nothing.
func (s *Store) allInUse() string {
	if s.db == nil {
		return ""
	}
	pool := s.db.Stats()
	if pool.MaxOpenConnections == 0 || pool.InUse < pool.MaxOpenConnections {
		return ""
	}
	return fmt.Sprintf("all %d connections of the pool were in use", pool.InUse)
}
