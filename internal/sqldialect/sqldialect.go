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

// Querier is a *sql.DB, a *sql.Conn or a *sql.Tx, or what libraries have in their place.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Executor runs statements that return nothing.
type Executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// ErrReadOnly says that the server is a replica.
var ErrReadOnly = errors.New("the server takes no writes; the primary is needed")

// refusalError says that this server, or the way in which it is set up, will not do.
type refusalError struct{ error }

func (e refusalError) Is(target error) bool { return target == lockrt.ErrOptions }
func (e refusalError) Unwrap() error        { return e.error }

// Refusal is an error that wraps lockrt.ErrOptions without saying so.
func Refusal(format string, a ...any) error { return refusalError{fmt.Errorf(format, a...)} }

// IsRefusal reports whether an error is one of [Refusal].
func IsRefusal(err error) bool { return errors.As(err, new(refusalError)) }

// Detect asks the server which dialect it speaks. It leaves a transaction as it was.
func Detect(ctx context.Context, q Querier) (Dialect, error) {
	// PostgreSQL and MySQL know version(). It comes first because a failed statement ends a transaction in PostgreSQL,
	// while SQLite, which does not know it, takes no notice.
	var version string
	err := One(ctx, q, "SELECT version()", &version)
	switch {
	case err == nil && strings.Contains(version, "CockroachDB"):
		return "", notPostgres(version)
	case err == nil && strings.HasPrefix(version, "PostgreSQL "):
		return Postgres, nil
	case err == nil && version != "" && version[0] >= '0' && version[0] <= '9':
		return MySQL, nil // "10.11.6-MariaDB" and "8.0.36" carry no name that both have
	case err == nil:
		return "", Refusal("the server calls itself %q; set the Dialect if it speaks one of postgres, mysql and sqlite",
			version)
	case ctx.Err() != nil:
		return "", err
	}
	if other := One(ctx, q, "SELECT sqlite_version()", &version); other != nil {
		if other.Error() != err.Error() {
			err = errors.Join(err, other)
		}
		return "", fmt.Errorf("ask which database it is: %w", err)
	}
	return SQLite, nil
}
