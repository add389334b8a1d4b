package fence

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/lockgen/lockgen/internal/sqldialect"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// DefaultTable is where the high-water marks are kept if [SQL].Table is empty.
const DefaultTable = "lockgen_fence"

// Tx is an open transaction: a *sql.Tx, gorm's tx.Statement.ConnPool, sqlc's DBTX, ent's *Tx, which has the methods with
// the feature sql/execquery, or a *sql.Conn on which the caller has begun one by a statement.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// SQL configures how the high-water marks are kept in a database. The zero value works on all dialects with
// [DefaultTable], which has to be created first in MySQL.
type SQL struct {
	// Dialect is the SQL that the database speaks. If it is empty, every Guard asks the server first (see [Detect]),
	// which costs two round trips, one on MySQL, and creates a table that is missing, in the transaction, unless the
	// server is MySQL, where that would commit. With a Dialect, call CreateTable once at the start, or run the DDL. The
	// role then needs SELECT, INSERT and UPDATE on the table, and DELETE for Prune and Reset.
	Dialect Dialect
	// Table is the table of high-water marks: a name, or a schema and a name with a dot between, of ASCII letters,
	// digits and underscores. It is quoted, so upper and lower case are different where the database tells them apart.
	// Defaults to [DefaultTable].
	Table string
}

// Guard is [SQL.Guard] of the zero SQL: the dialect is detected, and the table is [DefaultTable], which it creates in
// the transaction if that is possible; in MySQL it is not, call [CreateTable] before.
func Guard(ctx context.Context, tx Tx, resource string, f lockrt.Fence) error {
	return SQL{}.Guard(ctx, tx, resource, f)
}

// GuardLease is [Guard] with the fence of the lease in ctx that protects resource, see [FromContext]. For the lease of
// a permit it guards the slot, see [PerSlot].
func GuardLease(ctx context.Context, tx Tx, resource string) error {
	return SQL{}.GuardLease(ctx, tx, resource)
}

// GuardLease is Guard with the fence of the lease in ctx that protects resource, see [FromContext]. For the lease of a
// permit it guards the slot, see [PerSlot].
func (s SQL) GuardLease(ctx context.Context, tx Tx, resource string) error {
	name, f, err := leased(ctx, resource)
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	return s.Guard(ctx, tx, name, f)
}

// leased returns the fence of the lease in ctx that protects resource, and what it is to be compared under.
func leased(ctx context.Context, resource string) (name string, f lockrt.Fence, err error) {
	lease, err := leaseFor(ctx, resource)
	if err == nil && checkSlot(resource, lease) != nil {
		resource = PerSlot(resource, lease)
	}
	if err == nil {
		f, err = FromContext(ctx, resource)
	}
	return resource, f, err
}

// Guard makes the transaction's writes to the resource conditional on f. It fails with a [*StaleError] if a transaction
// with a higher fence has committed. Otherwise all other transactions with this resource wait until this one ends, so
// none can commit a higher fence in between. The commit raises the high-water mark; a rollback leaves it unchanged.
//
// Call it first in the transaction, before the reads on which the writes depend: those are then as new as the guard. It
// blocks while another transaction with the same resource is open. After any error roll back. Errors of the database
// that ask for another try (serialization failure, deadlock, snapshot too old, busy) come through wrapped; then run the
// whole transaction again, with the same fence.
//
// Transactions that guard several resources should all use the same order, such as sorted. Otherwise two of them may
// deadlock, and the database fails one.
func (s SQL) Guard(ctx context.Context, tx Tx, resource string, f lockrt.Fence) error {
	if err := check(resource, f); err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	if _, pool := tx.(interface{ SetMaxOpenConns(int) }); pool {
		return fmt.Errorf("guard %q: %w: %T is no transaction, the guard would end with its own statement; pass the *sql.Tx of the writes",
			resource, ErrInvalid, tx)
	}
	st, err := s.statements(ctx, tx)
	if err != nil {
		return fmt.Errorf("guard %q: %w", resource, err)
	}
	raise := st.raise
	if s.Dialect == "" {
		raise = st.raiseOrCreate
	}
	highest, err := raise(ctx, tx, resource, int64(f))
	switch {
	case err != nil:
		return fmt.Errorf("guard %q with fence %s: %w", resource, f, st.explain(err))
	case highest > int64(f):
		return &StaleError{Resource: resource, Given: f, Highest: lockrt.Fence(highest)}
	}
	return nil
}

// raise sets the high-water mark to the higher of itself and f, locks its row until the transaction ends, and returns
// it.
func (st statements) raise(ctx context.Context, tx Tx, resource string, f int64) (highest int64, err error) {
	if st.locked == "" {
		err = sqldialect.QueryRow(ctx, tx, st.mark, resource, f).Scan(&highest)
		return highest, err
	}
	if _, err := tx.ExecContext(ctx, st.mark, resource, f, f); err != nil {
		return 0, err
	}
	err = sqldialect.QueryRow(ctx, tx, st.locked, resource).Scan(&highest)
	return highest, err
}
