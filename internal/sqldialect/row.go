package sqldialect

import (
	"context"
	"database/sql"
)

// Row is the first row of a query, as *sql.Row is one. Not all that libraries call a transaction can return a *sql.Row,
// while all return *sql.Rows.
type Row struct {
	rows *sql.Rows
	err  error
}

// QueryRow runs a query that returns a row. Scan must be called: until then the connection is busy with the result.
func QueryRow(ctx context.Context, q Querier, query string, args ...any) Row {
	rows, err := q.QueryContext(ctx, query, args...)
	return Row{rows, err}
}

// Scan reads the row and closes the result. The error is sql.ErrNoRows if there is no row.
func (r Row) Scan(into ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := r.rows.Scan(into...); err != nil {
		return err
	}
	return r.rows.Close()
}

// One reads the only row of a query without arguments.
func One(ctx context.Context, q Querier, query string, into ...any) error {
	return QueryRow(ctx, q, query).Scan(into...)
}
