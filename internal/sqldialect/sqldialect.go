// Package sqldialect knows how the databases differ that the stores on database/sql work with: which one it is, whether
// it will do, and what its errors mean. It imports no driver, so that it tells errors by what all drivers of a database
// have in common.
package sqldialect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Dialect is the SQL that a database speaks.
type Dialect string

// The dialects.
const (
	Postgres Dialect = "postgres"
	MySQL    Dialect = "mysql"
	SQLite   Dialect = "sqlite"
)

// Querier is a *sql.DB, or a *sql.Conn taken from one.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// ErrReadOnly says that the server is a replica.
var ErrReadOnly = errors.New("the server takes no writes; the primary is needed")

// refusalError says that this server, or the way in which it is set up, will not do.
type refusalError struct{ error }

func (e refusalError) Is(target error) bool { return target == lockrt.ErrOptions }
func (e refusalError) Unwrap() error        { return e.error }

// Refusal is an error that wraps lockrt.ErrOptions without saying so.
func Refusal(format string, a ...any) error { return refusalError{fmt.Errorf(format, a...)} }

// Detect asks the server which dialect it speaks.
func Detect(ctx context.Context, q Querier) (Dialect, error) {
	var version string
	err := one(ctx, q, "SELECT version()", &version)
	switch {
	case err == nil && (strings.HasPrefix(version, "PostgreSQL ") || strings.Contains(version, "CockroachDB")):
		return Postgres, nil
	case err == nil && version != "" && version[0] >= '0' && version[0] <= '9':
		return MySQL, nil // "10.11.6-MariaDB" and "8.0.36" carry no name that both have
	case err == nil:
		return "", Refusal("the server calls itself %q; set Config.Dialect if it speaks one of postgres, mysql and sqlite",
			version)
	case ctx.Err() != nil:
		return "", err
	}
	if other := one(ctx, q, "SELECT sqlite_version()", &version); other != nil {
		return "", fmt.Errorf("ask which database it is: %w", errors.Join(err, other))
	}
	return SQLite, nil
}

// one reads the only row.
func one(ctx context.Context, q Querier, query string, into ...any) error {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		return errors.Join(rows.Err(), sql.ErrNoRows)
	}
	if err := rows.Scan(into...); err != nil {
		return err
	}
	return rows.Close()
}
