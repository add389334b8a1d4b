package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockgen/lockgen/internal/sqldialect"
	"github.com/lockgen/lockgen/internal/timelimit"
)

var errNoAnswer = errors.New("the database did not answer within " + callTime.String())

// explain is a failed call's error as the caller gets it. Only where ctx, the caller's own, has ended it says so.
func (t *tables) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if over := timelimit.Ended(ctx); over != nil { // a connection ends with the time of its context, and may say so before it
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
