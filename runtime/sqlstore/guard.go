package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore/internal/intx"
)

// Tx is an open transaction: a *sql.Tx, gorm's tx.Statement.ConnPool, sqlc's DBTX, or ent's *Tx, which has the method
// with the feature sql/execquery.
type Tx interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// ErrUnsupported says that Guard is not possible: the database knows none, the transaction is in another one than the
// lock, or the lease is that of a permit. Errors wrap it.
var ErrUnsupported = errors.New("the lock cannot guard the transaction")

// guardIdle is how long a guarded transaction may be idle at the least, however short the lease.
const guardIdle = 5 * time.Second

// guardSQL locks the row so that it can be renewed, and cannot become another lease's, before the transaction ends. It
// also bounds for how long the server keeps a transaction whose client is silent, and says where the transaction is. A
// subquery with a lock is not merged into the query around it, so that the row is locked once.
const guardSQL = `SELECT w.place, w.tab, coalesce(g.setting, ''), current_setting('transaction_isolation') FROM (` + whereSQL + `) AS w
LEFT JOIN LATERAL (SELECT set_config('tcp_user_timeout', (:idle::bigint)::text, true),
  set_config('idle_in_transaction_session_timeout', (
  SELECT CASE WHEN s.setting::bigint BETWEEN 1 AND :idle::bigint THEN s.setting ELSE (:idle::bigint)::text END
  FROM pg_settings AS s WHERE s.name = 'idle_in_transaction_session_timeout'), true) AS setting
FROM {lock} AS k WHERE k.name = :name AND k.epoch = :epoch AND k.owner <> '' AND k.until > {now} AND k.broken = ''
FOR KEY SHARE OF k) AS g ON true`

// Guard makes a transaction part of the lease. From then on nobody else gets the lock before the transaction has ended,
// even past the end of the lease. So the transaction commits under the lock, and no fence has to be checked. The lock
// and the data must be in the same PostgreSQL database. Otherwise the error wraps [ErrUnsupported], also if the
// transaction is in a copy of that database: use package fence.
//
// The error wraps lockrt.ErrLost if the lease does not hold its lock any more. Then, and after every other error, roll
// back. In a transaction with the isolation REPEATABLE READ or SERIALIZABLE an error with the code 40001 says the same
// of a lease that ended after the transaction had begun. Such a transaction does not see a lease that was acquired after
// its first statement, and the error wraps ErrLost, too: acquire first.
//
// Call it first in the transaction, and outside of its savepoints: a rollback to a savepoint undoes a guard behind it.
// It does not block, unless the lock changes hands at this moment, or another program keeps its row locked: until that is
// over or ctx ends. Renewals go on. Every end of the lease waits for the transaction: Release, Close and MaxHold for what
// is left of the lease, 5 s at most, after which the lease is given back in the background, and a Break with Force too.
// Do not release a lease in its transaction. One lease may guard several transactions. It is not passed on within the
// process (lockrt.Config.LocalHandoffs), where the row would keep nobody out: whoever waits there gets the lock from the
// database. [DoTx] knows when its transaction is over, and passes it on then.
//
// While the transaction is open past the end of the lease, ErrBusy names the holder, and the error of Locker.Holder and
// Break, which wraps lockrt.ErrNotHeld, says that a transaction keeps the lock, and which of the server's processes
// have guarded ones. That takes 100 ms. One that was prepared (PREPARE TRANSACTION) keeps the lock until somebody
// commits it or rolls it back: see pg_prepared_xacts.
//
// What is no transaction is refused, be it a pool, or a connection on which none was begun, and so is one that is read
// only. A type without a method Commit is asked for that, which is another round trip.
//
// A transaction that was begun with the lease's context is rolled back by database/sql when the lease is lost. To
// commit all the same, because the guard keeps the lock, begin it with a context of its own.
//
// The lease of a reader guards too: no writer gets the lock before the transaction has ended, while other readers come,
// guard transactions of their own, and go. The release of the last one, or what else would let a writer in, waits for
// the transactions of all. That also holds if this lease has ended before the others. Downgrade waits for the
// transactions of the writer. The lease of a permit guards none, since the guard keeps the lock and not one of its slots:
// the error wraps [ErrUnsupported]. Use fence.GuardLease, which keeps a fence for each slot.
//
// The server ends a guarded transaction that is idle, or whose client takes no more of a result, for the rest of the lease,
// or for 5 s if that is longer. So a client that stops there keeps the lock for no longer than that; one that stops while
// a statement runs, until that has ended and then for as long: bound statements by statement_timeout.
func Guard(ctx context.Context, tx Tx, lease *lockrt.Lease) error {
	if err := sqldialect.CheckTx(tx, "the guard would end with its own statement"); err != nil && lease.Err() == nil {
		return fmt.Errorf("guard %q: %w", lease.Key(), err)
	}
	err := GuardRow(ctx, lease, func(ctx context.Context, query string, args ...any) Row {
		return sqldialect.QueryRow(ctx, tx, query, args...)
	})
	if _, ends := tx.(interface{ Commit() error }); !ends && err == nil {
		err = stillOpen(ctx, tx, lease)
	}
	return err
}

// stillOpen reports an error where a guard has already ended with its statement, as on a *sql.Conn on which no BEGIN was
// sent, on ent's client, or on gorm's pool of prepared statements. Only what has a Commit is a transaction by its type.
// The lock on the row has given an open transaction its number.
func stillOpen(ctx context.Context, tx Tx, lease *lockrt.Lease) error {
	var open bool
	if err := sqldialect.One(ctx, tx, "SELECT txid_current_if_assigned() IS NOT NULL", &open); err != nil {
		return fmt.Errorf("guard %q: %w", lease.Key(), err)
	}
	if !open {
		return fmt.Errorf("guard %q: %w: no transaction is open on the %T, and the guard has ended with its own statement; "+
			"begin one", lease.Key(), lockrt.ErrOptions, tx)
	}
	return nil
}

// Row is a *sql.Row, or what another client of PostgreSQL has in its place.
type Row interface {
	Scan(dest ...any) error
}

// GuardRow is [Guard] for transactions that are not a *sql.Tx. queryRow runs a statement in the transaction and returns
// its row. Package pgxlisten has a Guard for pgx.Tx.
func GuardRow(
	ctx context.Context, lease *lockrt.Lease, queryRow func(ctx context.Context, query string, args ...any) Row,
) error {
	if err := lease.Err(); err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	locks := lease.Locker()
	store, ok := locks.Store().(*Store)
	if !ok {
		return fmt.Errorf("guard %q: %w: the lock is not kept in a database but by %T; use package fence",
			lease.Key(), ErrUnsupported, locks.Store())
	}
	if lease.Slot() >= 0 {
		return fmt.Errorf("guard %q: %w: the lease is one of several permits, and a guard keeps the lock and not its slot; use "+
			"fence.GuardLease, which does", lease.Key(), ErrUnsupported)
	}
	t, err := store.ready(ctx)
	if err != nil {
		return fmt.Errorf("guard %q: %w", lease.Key(), err)
	}
	if t.Dialect != sqldialect.Postgres {
		return fmt.Errorf("guard %q: %w: %s has no lock on a row that lets it be renewed; use package fence",
			lease.Key(), ErrUnsupported, t.Dialect)
	}
	if !intx.Anchors(ctx) {
		if _, err := lease.Anchor(); err != nil {
			return fmt.Errorf("guard %q: %w", lease.Key(), err)
		}
	}
	idle := max(time.Until(lease.Deadline()), guardIdle).Milliseconds()
	text, values := t.build(guardSQL, args{
		"name": rowName(locks.Namespace(), lease.Key()), "epoch": int64(lease.Fence().Epoch()),
		"idle": strconv.FormatInt(idle, 10),
	})
	var place whereabouts
	var setting, isolation string
	err = queryRow(ctx, text, values...).Scan(&place.database, &place.table, &setting, &isolation)
	if err == nil {
		err = store.isHome(ctx, t, place)
	}
	switch over := lease.Err(); {
	case t.IsMissing(err) || t.IsForeign(err):
		return fmt.Errorf("guard %q: %w: it is not in the database of the locks, or does not find their tables: %w",
			lease.Key(), ErrUnsupported, err)
	case t.IsReadOnly(err):
		return fmt.Errorf("guard %q: %w: the transaction is read only, and a guard locks the lock's row; begin it without "+
			"ReadOnly, nothing has to be written: %w", lease.Key(), ErrUnsupported, err)
	case err != nil:
		return fmt.Errorf("guard %q: %w", lease.Key(), t.Help(err))
	case setting == "" && over == nil && (isolation == "repeatable read" || isolation == "serializable"):
		return fmt.Errorf("guard %q: %w: the lease does not hold the lock any more, or this %s transaction has read before the "+
			"lease was there, and does not see it: acquire before its first statement", lease.Key(), lockrt.ErrLost, isolation)
	case setting == "":
		return fmt.Errorf("guard %q: %w: the lease does not hold the lock any more", lease.Key(), lockrt.ErrLost)
	case over != nil: // it was given back meanwhile
		return fmt.Errorf("guard %q: %w", lease.Key(), over)
	}
	return nil
}
