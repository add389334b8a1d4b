package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// DDL returns the statement that creates the table, for migrations. The Dialect must be set.
func (s SQL) DDL() (string, error) {
	st, err := s.resolve()
	if err != nil {
		return "", fmt.Errorf("write the DDL of the fence table: %w", err)
	}
	return st.create, nil
}

// CreateTable creates [DefaultTable] if it is not there, see [SQL.CreateTable].
func CreateTable(ctx context.Context, db *sql.DB, dialect Dialect) error {
	return SQL{Dialect: dialect}.CreateTable(ctx, db)
}

// CreateTable creates the table if it is not there. Several processes may do so at the same time.
func (s SQL) CreateTable(ctx context.Context, db *sql.DB) error {
	st, err := s.statements(ctx, db)
	if err != nil {
		return fmt.Errorf("create the fence table: %w", err)
	}
	_, err = db.ExecContext(ctx, st.create)
	if err != nil {
		// In PostgreSQL one of two that create it at the same moment fails in spite of IF NOT EXISTS. It is there then.
		if _, again := db.ExecContext(ctx, st.create); again == nil {
			return nil
		}
		return fmt.Errorf("create the fence table %s (%s): %w", st.table, st.dialect, err)
	}
	return nil
}

// Prune removes the marks of resources that no guard has named for longer than age, and returns how many. A fence that
// comes later than that is accepted however old it is, so age must be longer than any holder can be delayed, with all
// the retries and queues on its way: days rather than minutes.
func (s SQL) Prune(ctx context.Context, db *sql.DB, age time.Duration) (int64, error) {
	if age < time.Second {
		return 0, fmt.Errorf("prune fence marks: %w: age %s is less than a second; it must exceed the longest delay of any holder", ErrInvalid, age)
	}
	st, err := s.statements(ctx, db)
	if err != nil {
		return 0, fmt.Errorf("prune fence marks: %w", err)
	}
	var removed int64
	err = st.inTx(ctx, db, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, st.prune, int64(age/time.Second))
		if err != nil {
			return st.explain(err)
		}
		removed, err = result.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("prune fence marks older than %s: %w", age, err)
	}
	return removed, nil
}

// inTx runs fn in a transaction of our own.
func (st statements) inTx(ctx context.Context, db *sql.DB, fn func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: st.isolation})
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			return errors.Join(err, rollback)
		}
		return err
	}
	return tx.Commit()
}

// maxIdentifier is where PostgreSQL cuts names off.
const maxIdentifier = 63

// quoteTable checks and quotes [schema.]table.
func quoteTable(dialect Dialect, table string) (string, error) {
	quote := `"`
	if dialect == MySQL {
		quote = "`"
	}
	parts := strings.Split(table, ".")
	for i, part := range parts {
		if !identifier(part) || len(parts) > 2 {
			return "", fmt.Errorf("%w: table %q; a name, or a schema and a name, of up to %d ASCII letters, digits and underscores, not beginning with a digit, is needed",
				ErrInvalid, table, maxIdentifier)
		}
		parts[i] = quote + part + quote
	}
	return strings.Join(parts, "."), nil
}

func identifier(s string) bool {
	if s == "" || len(s) > maxIdentifier || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// createKey is the advisory lock of PostgreSQL under which the table is created: without it, one of two that do so in
// the same moment fails in spite of IF NOT EXISTS, and its transaction with it.
const createKey = 0x6c6f636b67656e

// raiseOrCreate is raise for a caller who may not have created the table. Where that is possible it becomes part of the
// transaction, and goes with it if that is rolled back.
func (st statements) raiseOrCreate(ctx context.Context, tx Tx, resource string, f int64) (highest int64, err error) {
	switch st.dialect {
	case Postgres:
		// Asked first, because a failed statement would end the transaction.
		var there bool
		if err := tx.QueryRowContext(ctx, "SELECT to_regclass($1) IS NOT NULL", st.quoted).Scan(&there); err != nil {
			return 0, err
		}
		if !there {
			if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(createKey)); err != nil {
				return 0, err
			}
			if _, err := tx.ExecContext(ctx, st.create); err != nil {
				return 0, fmt.Errorf("create its table: %w; let somebody who may run\n%s", err, st.create)
			}
		}
	case SQLite:
		highest, err := st.raise(ctx, tx, resource, f)
		if !st.missing(err) {
			return highest, err
		}
		if _, err := tx.ExecContext(ctx, st.create); err != nil {
			return 0, fmt.Errorf("create its table: %w", err)
		}
	}
	return st.raise(ctx, tx, resource, f)
}

// missing reports whether the table is. database/sql has no common error for that.
func (st statements) missing(err error) bool {
	if err == nil {
		return false
	}
	switch st.dialect {
	case MySQL:
		return strings.Contains(err.Error(), "Error 1146")
	case SQLite:
		return strings.Contains(err.Error(), "no such table")
	}
	var coded interface{ SQLState() string } // PostgreSQL's drivers
	return errors.As(err, &coded) && coded.SQLState() == "42P01"
}

// explain adds what to run where the table is missing.
func (st statements) explain(err error) error {
	if !st.missing(err) {
		return err
	}
	return fmt.Errorf("%w; the table of marks is missing: call fence.SQL{Dialect: %q, Table: %q}.CreateTable once at the start, or run\n%s",
		err, st.dialect, st.table, st.create)
}
