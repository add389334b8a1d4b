package pgxlisten

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockgen/lockgen/internal/sqldialect"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
	"github.com/lockgen/lockgen/runtime/sqlstore/internal/intx"
)

// Guard is sqlstore.Guard for a transaction of pgx.
func Guard(ctx context.Context, tx pgx.Tx, lease *lockrt.Lease) error {
	if sqldialect.IsNothing(tx) {
		return fmt.Errorf("guard %q: %w: there is no transaction", lease.Key(), lockrt.ErrOptions)
	}
	return sqlstore.GuardRow(ctx, lease, func(ctx context.Context, query string, args ...any) sqlstore.Row {
		return tx.QueryRow(ctx, query, args...)
	})
}

// Beginner begins transactions: a *pgxpool.Pool, a *pgx.Conn, or one with options of its own in Begin.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// DoTx is sqlstore.DoTx for transactions of pgx. The locks must be in the same PostgreSQL database, and no permits
// (Options.Permits): otherwise the guard fails, with an error that wraps sqlstore.ErrUnsupported, and nothing is done.
func DoTx(
	ctx context.Context, locks *lockrt.Locker, key string, o lockrt.Options, db Beginner,
	fn func(ctx context.Context, tx pgx.Tx, lease *lockrt.Lease) error,
) error {
	if fn == nil {
		return noFunc
	}
	return DoAllTx(ctx, locks, []string{key}, o, db, func(ctx context.Context, tx pgx.Tx, leases lockrt.Leases) error {
		return fn(ctx, tx, leases[0])
	})
}

var noFunc = fmt.Errorf("run in a transaction under a lock: %w: there is no function to run", lockrt.ErrOptions)

// DoAllTx is DoTx under the locks on all keys, see lockrt.Locker.AcquireAll.
func DoAllTx(
	ctx context.Context, locks *lockrt.Locker, keys []string, o lockrt.Options, db Beginner,
	fn func(ctx context.Context, tx pgx.Tx, leases lockrt.Leases) error,
) error {
	switch {
	case fn == nil:
		return noFunc
	case sqldialect.IsNothing(db):
		return fmt.Errorf("run in a transaction under a lock: %w: there is no pool to begin it in", lockrt.ErrOptions)
	}
	return intx.Do(ctx, locks, keys, o, intx.Kind[pgx.Tx]{
		Begin:    db.Begin,
		Guard:    guardAll,
		Commit:   func(ctx context.Context, tx pgx.Tx) error { return tx.Commit(ctx) },
		Rollback: rollBack,
		Ended:    func(err error) bool { return errors.Is(err, pgx.ErrTxClosed) },
		Answered: refused,
	}, fn)
}

func guardAll(ctx context.Context, tx pgx.Tx, leases lockrt.Leases) (context.Context, func() error, error) {
	for _, lease := range leases {
		if err := Guard(ctx, tx, lease); err != nil {
			return ctx, nil, err
		}
	}
	return ctx, nil, nil
}

// rollBack does so also where the context has ended: the connection is good for others then.
func rollBack(ctx context.Context, tx pgx.Tx) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), intx.RollbackTime)
	defer cancel()
	return tx.Rollback(ctx)
}

// refused reports whether the server has said that a transaction is not committed.
func refused(err error) bool {
	var said *pgconn.PgError
	return errors.Is(err, pgx.ErrTxCommitRollback) ||
		errors.As(err, &said) && !strings.HasPrefix(said.Code, "08") && !strings.HasPrefix(said.Code, "57P")
}
