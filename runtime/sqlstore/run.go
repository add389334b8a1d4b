package sqlstore

import (
	"context"
	"database/sql"
)

// staleTries is how often a statement is tried that a connection had prepared before its table was changed. Nothing was
// done, and each failure has the driver prepare it anew on one connection: of a large pool, callers at the same time may
// get one after another.
const staleTries = 20

// fresh has a statement run again while it is stale.
func (t *tables) fresh(ctx context.Context, run func() error) error {
	for tries := 1; ; tries++ {
		err := run()
		if err == nil || !t.IsStale(err) || t.IsPooled(err) || tries == staleTries || ctx.Err() != nil {
			return err
		}
	}
}

// exec runs a statement and returns how many rows it changed.
func (t *tables) exec(ctx context.Context, q querier, template string, a args) (int64, error) {
	text, values := t.build(template, a)
	var result sql.Result
	err := t.fresh(ctx, func() (err error) {
		result, err = q.ExecContext(ctx, text, values...)
		return err
	})
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// query runs a statement and has each row scanned.
func (t *tables) query(ctx context.Context, q querier, template string, a args, scan func(*sql.Rows) error) (err error) {
	text, values := t.build(template, a)
	var rows *sql.Rows
	err = t.fresh(ctx, func() (err error) {
		rows, err = q.QueryContext(ctx, text, values...)
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		if closing := rows.Close(); err == nil {
			err = closing
		}
	}()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
