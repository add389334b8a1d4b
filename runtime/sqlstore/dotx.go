package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockgen/lockgen/internal/sqldialect"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/sqlstore/internal/intx"
)

// ErrUnsure is wrapped by the error of [DoTx] if the answer to the commit was lost. Everything has been written, or
// nothing: look before doing the work again.
var ErrUnsure = intx.ErrUnsure

// Beginner begins transactions: a *sql.DB, a *sql.Conn, or one with options of its own in BeginTx.
type Beginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// DoTx runs fn in a transaction of db that is committed while the lock on key is held. It takes the lock, begins the
// transaction, guards it, calls fn, commits, and then releases the lock. If fn fails, panics or calls runtime.Goexit it
// rolls back before the release. fn must not end the transaction itself, by its methods or by a statement. If a statement
// fails, fn has to fail, too: MySQL has ended the transaction if that was a deadlock, and commits each further statement by
// itself, which DoTx does not notice.
//
// If the Locker keeps its locks in the PostgreSQL database of db, through whichever pool, the guard is [Guard]: nobody
// else gets the lock before the transaction has ended, even past the end of the lease; for a reader (Options.Mode) that
// is no writer. Otherwise, and for permits (Options.Permits), each of which has a fence of its own, it is fence.GuardLease
// with the key as the resource, whose table db needs (see fence.CreateTable): a transaction that comes too late is
// refused with fence.ErrStale, and one whose lease was lost while fn ran is rolled back. Locks and data in the same
// SQLite file block each other: give the locks a file of their own.
//
// fn gets the lease's context, which ends with the lease, and with ctx; work with the transaction under that context or
// a longer one. The transaction is rolled back when ctx ends. PostgreSQL ends one that is idle for the rest of the TTL, or for
// 5 s if that is more (25P03), also while the lease is renewed: see [Guard]. In MySQL, a transaction of a machine that is gone keeps
// the mark of its fence, and so the next DoTx on the key, until the server gives its connection up: set wait_timeout.
//
// DoTx returns nil if and only if the commit was acknowledged. If the lease was lost in the meantime, that is no error:
// the guard has kept others out. If nothing was committed the error is that of Locker.Do, of the guard (see there),
// fn's own, or the database's; 40001, 40P01 and their like ask for the whole call to be repeated. An error that wraps
// [ErrUnsure] says that the outcome is not known: so does that of an fn that ended the transaction itself by its methods, and
// one a second after the end of ctx if the answer to the commit is not there. A rollback is waited for for 5 s. Otherwise DoTx blocks for as long as Locker.Do, fn and the database.
func DoTx(
	ctx context.Context, locks *lockrt.Locker, key string, o lockrt.Options, db Beginner,
	fn func(ctx context.Context, tx *sql.Tx, lease *lockrt.Lease) error,
) error {
	if fn == nil {
		return noFunc
	}
	return DoAllTx(ctx, locks, []string{key}, o, db, func(ctx context.Context, tx *sql.Tx, leases lockrt.Leases) error {
		return fn(ctx, tx, leases[0])
	})
}

var noFunc = fmt.Errorf("run in a transaction under a lock: %w: there is no function to run", lockrt.ErrOptions)

// DoAllTx is DoTx under the locks on all keys, see lockrt.Locker.AcquireAll.
func DoAllTx(
	ctx context.Context, locks *lockrt.Locker, keys []string, o lockrt.Options, db Beginner,
	fn func(ctx context.Context, tx *sql.Tx, leases lockrt.Leases) error,
) error {
	if fn == nil {
		return noFunc
	}
	if sqldialect.IsNothing(db) {
		return fmt.Errorf("run in a transaction under a lock: %w: there is no *sql.DB to begin it in", lockrt.ErrOptions)
	}
	return intx.Do(ctx, locks, keys, o, intx.Kind[*sql.Tx]{
		Begin: func(ctx context.Context) (*sql.Tx, error) { return db.BeginTx(ctx, nil) },
		Guard: func(ctx context.Context, tx *sql.Tx, leases lockrt.Leases) (context.Context, func() error, error) {
			return guardTx(ctx, db, tx, leases)
		},
		Commit:   func(_ context.Context, tx *sql.Tx) error { return tx.Commit() },
		Rollback: func(_ context.Context, tx *sql.Tx) error { return tx.Rollback() },
		Ended:    func(err error) bool { return errors.Is(err, sql.ErrTxDone) },
		Answered: refusedCommit,
	}, fn)
}

// guardTx guards a transaction by the rows of the locks, or by the fences of the leases.
func guardTx(ctx context.Context, db Beginner, tx *sql.Tx, leases lockrt.Leases) (context.Context, func() error, error) {
	store, _ := leases[0].Locker().Store().(*Store)
	same, err := store.keepsLocksIn(ctx, db, tx)
	if err != nil {
		return ctx, nil, fmt.Errorf("guard %q: %w", leases[0].Key(), err)
	}
	if same && !slices.ContainsFunc(leases, func(lease *lockrt.Lease) bool { return lease.Slot() >= 0 }) {
		for _, lease := range leases {
			if err := Guard(ctx, tx, lease); err != nil {
				return ctx, nil, store.doubt(err)
			}
		}
		return ctx, nil, nil
	}
	work, err := guardByFence(ctx, tx, leases)
	return work, func() error { return lostOf(leases) }, err
}

// guardByFence guards by the fences of the leases. The keys are sorted, so that two transactions cannot wait for each
// other's marks.
func guardByFence(ctx context.Context, tx *sql.Tx, leases lockrt.Leases) (context.Context, error) {
	var marks fence.SQL
	for _, lease := range leases {
		if fencedIn(ctx, lease) {
			return ctx, fmt.Errorf("guard %q: %w: a transaction of this call chain is guarded by its fence and open, and this "+
				"one would wait for it without end; use that one", lease.Key(), lockrt.ErrNested)
		}
		if err := marks.GuardLease(ctx, tx, lease.Key()); err != nil {
			return ctx, err
		}
		if len(leases) > 1 && marks.Dialect == "" { // the table is there by now
			var err error
			if marks.Dialect, err = fence.Detect(ctx, tx); err != nil {
				return ctx, err
			}
		}
	}
	return context.WithValue(ctx, fencedKey{}, leases), nil
}

// fencedKey has the leases in whose fences a transaction of the call chain is guarded.
type fencedKey struct{}

func fencedIn(ctx context.Context, lease *lockrt.Lease) bool {
	outer, _ := ctx.Value(fencedKey{}).(lockrt.Leases)
	return outer.Lease(lease.Key()) != nil
}

// lostOf is why a transaction must not be committed whose guard does not keep the locks.
func lostOf(leases lockrt.Leases) error {
	for _, lease := range leases {
		if err := lease.Err(); err != nil {
			return fmt.Errorf("commit under lock %q: not tried: %w", lease.Key(), err)
		}
	}
	return nil
}

// refusedCommit reports whether the database has said that a transaction is not committed. Without an answer nobody
// knows, nor if fn has ended the transaction itself.
func refusedCommit(err error) bool {
	text := err.Error()
	return sqldialect.Answered(err) ||
		strings.Contains(text, "unexpectedly resulted in rollback") || // pgx, after an error that fn has passed over
		strings.Contains(text, "operation in a failed transaction") // lib/pq
}
