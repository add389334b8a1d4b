package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

// DDL returns the statement that creates the table, for migrations. The Dialect must be set. For a table of the default
// name it stands in the folder ddl of this package, in a file for each dialect.
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

// CreateTable creates the table if it is not there. It looks first, so that a role that may not create tables, or a
// server that is read-only, is no obstacle where the table exists. Several processes may call it at the same time. The
// error names the statement to run, and the grants that the role needs.
func (s SQL) CreateTable(ctx context.Context, db *sql.DB) error {
	st, err := s.statements(ctx, db)
	if err != nil {
		return fmt.Errorf("create the fence table: %w", err)
	}
	lookErr := st.lookFor(ctx, db)
	if lookErr == nil {
		return nil
	}
	_, err = db.ExecContext(ctx, st.create)
	// In PostgreSQL one of two that create it at the same moment fails in spite of IF NOT EXISTS. It is there then. And
	// one that was there all the time may still not be readable.
	if lookErr = st.lookFor(ctx, db); lookErr == nil {
		return nil
	}
	if err == nil || !st.IsMissingTable(lookErr) {
		err = errors.Join(lookErr, err)
	}
	return fmt.Errorf("create the fence table %s (%s): %w; %s", st.table, st.Dialect, err, st.help())
}

// lookFor finds out whether the table is there, with its columns, and may be read.
func (st statements) lookFor(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, st.look)
	if err != nil {
		return err
	}
	return errors.Join(rows.Close(), rows.Err())
}

// help says what somebody with more rights has to run.
func (st statements) help() string {
	text := "let somebody who may run\n" + st.create
	if st.grants != "" {
		text += ";\n" + st.grants
	}
	return text
}

// Reset forgets the high-water mark of a resource, so that the next fence is accepted whatever it is. It is for an
// operator who has found a high-water mark that no lease raised: until the next holder has written, a stale writer is
// not refused.
func (s SQL) Reset(ctx context.Context, db *sql.DB, resource string) error {
	if err := check(resource, 1); err != nil {
		return fmt.Errorf("reset fence mark: %w", err)
	}
	st, err := s.statements(ctx, db)
	if err == nil {
		_, err = db.ExecContext(ctx, st.forget, resource)
	}
	if err != nil {
		return fmt.Errorf("reset fence mark of %q: %w", resource, st.explain(err))
	}
	return nil
}

// Prune removes the high-water marks of resources that no guard has named for longer than age, and returns how many. A
// fence that comes later than that is accepted however old it is, so age must be longer than any holder can be delayed,
// with all the retries and queues on its way: days rather than minutes.
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

// createKey is the advisory lock of PostgreSQL under which the table is created: without it, one of two that do so in
// the same moment fails in spite of IF NOT EXISTS, and its transaction with it.
const createKey = 0x6c6f636b67656e

// raiseOrCreate is raise for a caller who may not have created the table. Where that is possible it becomes part of the
// transaction, and goes with it if that is rolled back.
func (st statements) raiseOrCreate(ctx context.Context, tx Tx, resource string, f int64) (highest int64, err error) {
	switch st.Dialect {
	case sqldialect.Postgres:
		// Asked first, because a failed statement would end the transaction.
		var there bool
		if err := sqldialect.QueryRow(ctx, tx, "SELECT to_regclass($1) IS NOT NULL", st.quoted).Scan(&there); err != nil {
			return 0, err
		}
		if !there {
			if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(createKey)); err != nil {
				return 0, err
			}
			if _, err := tx.ExecContext(ctx, st.create); err != nil {
				return 0, fmt.Errorf("create its table: %w; %s", err, st.help())
			}
		}
	case sqldialect.SQLite:
		highest, err := st.raise(ctx, tx, resource, f)
		if !st.IsMissingTable(err) {
			return highest, err
		}
		if _, err := tx.ExecContext(ctx, st.create); err != nil {
			return 0, fmt.Errorf("create its table: %w", err)
		}
	}
	return st.raise(ctx, tx, resource, f)
}

// explain adds what to run where the table, or a right to it, is missing.
func (st statements) explain(err error) error {
	switch {
	case err == nil || st.Dialect == "":
		return err
	case st.IsMissingTable(err):
		return fmt.Errorf("%w; the table of marks is missing: call fence.SQL{Dialect: %q, Table: %q}.CreateTable once at the start, or run\n%s",
			err, st.Dialect, st.table, st.create)
	case st.IsDenied(err) && st.Dialect == sqldialect.MySQL: // which says so of a table that is not there, too
		return fmt.Errorf("%w; the role lacks a right, or the table of marks is missing: %s", err, st.help())
	case st.IsDenied(err):
		return fmt.Errorf("%w; the role lacks a right: let somebody who may run\n%s", err, st.grants)
	}
	return err
}
