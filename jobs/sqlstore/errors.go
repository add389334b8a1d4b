package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

var errNoAnswer = errors.New("the database did not answer within " + callTime.String())

// explain is a failed call's error as the caller gets it. Only where ctx, the caller's own, has ended it says so.
func (t *tables) explain(ctx context.Context, err error) error {
	if over := ended(ctx); err != nil && over != nil {
		if !errors.Is(err, over) {
			err = errors.Join(over, err)
		}
		return t.silent(err)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return t.silent(errNoAnswer)
	}
	return t.Help(err)
}

// ended is why a context has ended, nil if it has not. A connection ends with the time of its context, which a moment later
// says so itself.
func ended(ctx context.Context) error {
	if end, ok := ctx.Deadline(); ok && ctx.Err() == nil && !time.Now().Before(end) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// silent adds to an error what may be why there was no answer.
func (t *tables) silent(err error) error {
	if why := t.WhySilent(); why != "" && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %s", err, why)
	}
	return err
}

// WhySilent is what may be why calls have no answer although the database is there, "" if nothing is known of it. The
// scheduler asks for it when it gives up a call.
func (s *Store) WhySilent() string {
	if t := s.known.Load(); t != nil {
		return t.WhySilent()
	}
	return sqldialect.Dialect(s.cfg.Dialect).WhySilent()
}
