package sqlstore

import (
	"context"
	"errors"
	"fmt"
)

// help adds what to do where that is known.
func (t *tables) help(err error) error {
	switch {
	case err == nil:
		return nil
	case t.isIncomplete(err):
		return fmt.Errorf("%w; the tables of the jobs (%s) are missing or too old: call CreateTables of jobs/sqlstore, or "+
			"run\n%s", err, t.shown, t.text(t.ddl))
	case t.IsDenied(err):
		return fmt.Errorf("%w; the role lacks a right: let somebody who may run\n%s", err, t.grants())
	case t.IsPooled(err):
		return fmt.Errorf("%w; a pooler in transaction mode does not keep prepared statements: use "+
			"default_query_exec_mode=exec with pgx, binary_parameters=yes with lib/pq", err)
	case t.IsReadOnly(err):
		return fmt.Errorf("%w; the server takes no writes: jobs need the primary", err)
	}
	return err
}

var errNoAnswer = errors.New("the database did not answer within " + callTime.String())

// explain is a failed call's error as the caller gets it. Only where ctx, the caller's own, has ended it says so.
func (t *tables) explain(ctx context.Context, err error) error {
	if over := ctx.Err(); err != nil && over != nil {
		if errors.Is(err, over) {
			return err
		}
		return errors.Join(over, err)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return errNoAnswer
	}
	return t.help(err)
}
