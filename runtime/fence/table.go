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

// explain adds what to run where the table is missing. database/sql has no common error for that.
func (st statements) explain(err error) error {
	var coded interface{ SQLState() string } // PostgreSQL's drivers
	missing := errors.As(err, &coded) && coded.SQLState() == "42P01"
	text := err.Error()
	switch st.dialect {
	case MySQL:
		missing = strings.Contains(text, "Error 1146")
	case SQLite:
		missing = strings.Contains(text, "no such table")
	}
	if !missing {
		return err
	}
	return fmt.Errorf("%w; the table of marks is missing: call fence.SQL{Dialect: %q, Table: %q}.CreateTable once at the start, or run\n%s",
		err, st.dialect, st.table, st.create)
}
