package sqltest

import (
	"context"
	"database/sql/driver"
	"errors"
)

// textStmt is a statement that its connection runs as text, so that a test that looks at texts sees it.
type textStmt struct {
	conn interface {
		driver.ExecerContext
		driver.QueryerContext
	}
	query string
}

func (s textStmt) Close() error  { return nil }
func (s textStmt) NumInput() int { return -1 }

func (s textStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.conn.ExecContext(ctx, s.query, args)
}

func (s textStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.conn.QueryContext(ctx, s.query, args)
}

var errOldStyle = errors.New("database/sql calls the methods with a context")

func (s textStmt) Exec([]driver.Value) (driver.Result, error) { return nil, errOldStyle }
func (s textStmt) Query([]driver.Value) (driver.Rows, error)  { return nil, errOldStyle }
