package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lockgen/lockgen/internal/sqldialect"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Check is [SQL.Check] of the zero SQL: the dialect is detected, and where the table is missing nothing was guarded
// yet.
func Check(ctx context.Context, tx Tx, resource string, f lockrt.Fence) error {
	return SQL{}.Check(ctx, tx, resource, f)
}

// CheckLease is [Check] with the fence of the lease in ctx that protects resource, see [GuardLease].
func CheckLease(ctx context.Context, tx Tx, resource string) error {
	return SQL{}.CheckLease(ctx, tx, resource)
}

// CheckLease is Check with the fence of the lease in ctx that protects resource, see [SQL.GuardLease].
func (s SQL) CheckLease(ctx context.Context, tx Tx, resource string) error {
	name, f, err := leased(ctx, resource)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	return s.Check(ctx, tx, name, f)
}

// Check is [SQL.Guard] for those who only read, under a lease for reading or any other. It fails with a [*StaleError]
// if a transaction with a higher fence than f has committed. It raises no high-water mark and locks nothing, so readers
// do not wait for each other. It is a plain read in tx, which may be a *sql.DB too, and needs no more than the right to
// SELECT.
//
// Call it after the reads: then all of them are from before any later writer. In a transaction that reads from one
// snapshot (REPEATABLE READ or higher; SQLite) its place does not matter: it says how old that snapshot is.
func (s SQL) Check(ctx context.Context, tx Tx, resource string, f lockrt.Fence) error {
	if err := check(resource, f); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	st, err := s.statements(ctx, tx)
	if err != nil {
		return fmt.Errorf("check %q: %w", resource, err)
	}
	highest, err := st.highest(ctx, tx, resource, s.Dialect == "")
	switch {
	case err != nil:
		return fmt.Errorf("check %q with fence %s: %w", resource, f, st.explain(err))
	case highest > int64(f):
		return &StaleError{Resource: resource, Given: f, Highest: lockrt.Fence(highest)}
	}
	return nil
}

// highest reads a high-water mark, 0 if there is none, and so too if the table is missing and need not be there.
func (st statements) highest(ctx context.Context, tx Tx, resource string, mayMiss bool) (highest int64, err error) {
	if mayMiss && st.Dialect == sqldialect.Postgres {
		// Asked first, because a failed statement would end the transaction.
		var there bool
		err := sqldialect.QueryRow(ctx, tx, "SELECT to_regclass($1) IS NOT NULL", st.quoted).Scan(&there)
		if err != nil || !there {
			return 0, err
		}
	}
	err = sqldialect.QueryRow(ctx, tx, st.read, resource).Scan(&highest)
	if errors.Is(err, sql.ErrNoRows) || mayMiss && st.IsMissingTable(err) {
		return 0, nil
	}
	return highest, err
}
