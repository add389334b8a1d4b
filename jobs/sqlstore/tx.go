package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/ledger"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Tx is an open transaction: a *sql.Tx, gorm's tx.Statement.ConnPool, sqlc's DBTX, or ent's *Tx, which has the method
// with the feature sql/execquery. For pgx see [PgxTx].
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// PutTx stores a one-off job in the caller's transaction: the job exists if and only if the transaction commits. The
// transaction must be in the database of the store; the error wraps lockrt.ErrOptions if it is in another one. Its role
// needs the right to select, insert and update in the table of one-off jobs.
//
// In SQLite the tables must be in the main database of the transaction's connection. Attached databases are files of
// their own, which SQLite commits one after another: a crash between two of them would leave an order without its job. So
// the other writes belong into main too.
//
// As with [jobs.Scheduler.At], nothing changes if a job with the same ID waits, or had its time within the last day. A job
// that waits is not run before the transaction has ended. If other open transactions have put the same ID, PutTx waits for
// them. Transactions that put several IDs do so in one order, such as sorted: otherwise two of them may deadlock, and the
// database fails one (40P01, in MySQL 1213). In MySQL and MariaDB those that have waited for one ID may deadlock over it,
// too, and one of them keeps others from putting IDs beside it, in the order of IDs, until it has ended. Under REPEATABLE
// READ and SERIALIZABLE the database may ask for another try as well (40001). Run the whole transaction again then. After
// the commit a node finds the job at its next heartbeat. A time in the past means now. The error names what is wrong with
// o. After every other error roll back.
//
// A rollback to a savepoint undoes a PutTx behind it, and the rest of the transaction may still commit: call it outside
// of savepoints, or where they hold the writes too. Nested transactions of gorm are savepoints.
//
// The first use of a store examines the server on a connection of its own. Where transactions may have all connections of
// a pool, let that be another call, before them: [Store.Nodes] will do.
//
// A copy of the database, such as a restored dump or a snapshot, is taken for the store's, except on PostgreSQL where it
// has another name. A transaction that the database has ended, as MySQL does after a deadlock, is refused.
func (s *Store) PutTx(ctx context.Context, tx Tx, o jobs.OneOff) error {
	fail := func(err error) error { return fmt.Errorf("put one-off job %q: %w", o.ID, err) }
	if err := o.Check(); err != nil {
		return fail(err)
	}
	if err := sqldialect.CheckTx(tx, "the job would exist whatever becomes of the writes"); err != nil {
		return fail(err)
	}
	t, err := s.ready(ctx)
	if err != nil {
		return s.in(err, "put one-off job %q", o.ID)
	}
	if t, err = t.inTx(); err != nil {
		return s.in(err, "put one-off job %q", o.ID)
	}
	if err := t.checkOpen(ctx, tx); err != nil {
		return s.in(s.explainTx(ctx, t, err), "put one-off job %q", o.ID)
	}
	o = ledger.Stored(o)
	text, now := putText(t)
	args := append([]any{s.namespace, []byte(o.ID)}, t.homeArgs()...)
	args = append(append(args, micros(o.At), encode(o)), now...)
	if _, err := tx.ExecContext(ctx, t.text(text), args...); err != nil {
		return s.in(s.explainTx(ctx, t, err), "put one-off job %q", o.ID)
	}
	return nil
}

// CompleteTx ends the run that ctx belongs to in the transaction of its work: the run is complete if and only if the
// transaction commits. Call it in [jobs.Job.Run] or [jobs.Handler.Run], with the context that they were given or one made
// of it, as the last statement of the transaction:
//
//	defer tx.Rollback()
//	if err := work(ctx, tx); err != nil {
//		return err
//	}
//	if err := store.CompleteTx(ctx, tx); err != nil {
//		return err
//	}
//	return tx.Commit()
//
// A node that dies after the commit, and one whose lock is lost then, leaves nothing to do again: the run is recorded with
// jobs.OutcomeOK, whatever the function returns. The error is jobs.ErrGone if another node has taken the run over
// meanwhile, or if an earlier transaction has completed it, also if the answer to that commit was lost: roll back.
// So however often a run is tried, in the function, by retries and after deaths, one transaction commits. Within one
// transaction CompleteTx may be called again with the same tx, unless that is one of [PgxTx] or a connection, such as a
// *sql.Conn with a BEGIN of your own, on which there may be another transaction since. A type of your own that hides a
// connection looks like one transaction: pass the connection itself.
//
// Nobody takes the run over while the transaction is open: a node that is stopped there keeps it until the server ends the
// transaction. On PostgreSQL that is when its client has been silent for 30 s, or for idle_in_transaction_session_timeout
// if that is less. Nothing ends one that was prepared for a commit in two phases. The transaction must be in the database of
// the store, in another one the error is jobs.ErrGone too. Its role needs the right to select and update in the table of runs, and to
// select in that of one-off jobs. CompleteTx blocks until the database has answered. After every error roll back.
//
// A rollback to a savepoint undoes a CompleteTx behind it: what the transaction then commits, another run may do again.
// Call it outside of savepoints. Nested transactions of gorm are savepoints.
func (s *Store) CompleteTx(ctx context.Context, tx Tx) error {
	run, ok := jobs.RunFromContext(ctx)
	if !ok {
		return fmt.Errorf("complete a run: %w: the context does not come from a job or a handler", lockrt.ErrOptions)
	}
	if err := sqldialect.CheckTx(tx, "the run would be complete whatever becomes of the writes"); err != nil {
		return fmt.Errorf("complete run %s: %w", run.ID, err)
	}
	t, err := s.ready(ctx)
	if err != nil {
		return s.in(err, "complete run %s", run.ID)
	}
	if t, err = t.inTx(); err != nil {
		return s.in(err, "complete run %s", run.ID)
	}
	if err := t.checkOpen(ctx, tx); err != nil {
		return s.in(s.explainTx(ctx, t, err), "complete run %s", run.ID)
	}
	if t.Dialect == sqldialect.MySQL && s.isGone(ctx, t, run) {
		return gone(run)
	}
	// It counts: where a row that stays as it is does not count as changed, a second call must not look like a run that is
	// gone.
	text := `UPDATE {run} SET completed = completed + 1 WHERE namespace = ? AND id = ? AND owner = ? AND 0 = `
	if !s.completing.within(run, tx) {
		text = strings.Replace(text, "AND 0", "AND completed = 0 AND 0", 1)
	}
	if t.Dialect == sqldialect.Postgres {
		text = strings.Replace(text, "completed + 1", "completed + "+fmt.Sprintf(endIdle, completeIdle.Milliseconds()), 1)
	}
	args := append([]any{s.namespace, []byte(run.ID), []byte(run.Session)}, t.homeArgs()...)
	result, err := tx.ExecContext(ctx, t.text(text+inHome), args...)
	if err != nil {
		return s.in(s.explainTx(ctx, t, err), "complete run %s", run.ID)
	}
	if n, err := result.RowsAffected(); err != nil {
		return s.in(err, "complete run %s", run.ID)
	} else if n == 0 {
		return gone(run)
	}
	s.completing.note(ctx, run, tx)
	return nil
}

func gone(run jobs.RunID) error {
	return fmt.Errorf("complete run %s: %w: a transaction before this one has completed it, another node has taken it over, "+
		"or the transaction is in another database than the jobs; roll it back", run.ID, jobs.ErrGone)
}

// lookTime is how long a look may take that saves others a wait, and is not needed.
const lookTime = time.Second

// isGone reports whether a run is known not to be that of its session any more. A statement of MySQL that changes no row
// because there is none keeps, under REPEATABLE READ, all others from making one beside it, and so every run from beginning,
// until its transaction ends. So this looks outside of the transaction, whose snapshot may be old as well, and locks, so that
// no replica is asked. A row that is locked is there. Where transactions have the whole pool nothing is known.
func (s *Store) isGone(ctx context.Context, t *tables, run jobs.RunID) bool {
	if pool := s.db.Stats(); pool.MaxOpenConnections > 0 && pool.InUse >= pool.MaxOpenConnections {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	there := false
	const text = `SELECT /*+ SET_VAR(lock_wait_timeout = 1) */ 1 FROM {run} WHERE namespace = ? AND id = ? AND owner = ? FOR UPDATE NOWAIT`
	err := t.query(limited, t.waiting(s.db, lookTime), text,
		[]any{s.namespace, []byte(run.ID), []byte(run.Session)}, func(*sql.Rows) error {
			there = true
			return nil
		})
	return err == nil && !there
}

// attached says why tables must be in the main database of a SQLite connection.
const attached = "SQLite commits the file of an attached database apart from the others, so that a crash between the two " +
	"leaves one without the other"

// inTx are the tables for a statement in a caller's transaction. In SQLite they are those of its connection's main
// database, whatever tables of the same name it has elsewhere.
func (t *tables) inTx() (*tables, error) {
	if t.Dialect != sqldialect.SQLite {
		return t, nil
	}
	own := *t
	own.schema = t.Quote("main") + "."
	if t.schema != "" && !strings.EqualFold(t.schema, own.schema) {
		return nil, fmt.Errorf("%w: the tables %s are in the schema %s and not in main: %s", lockrt.ErrOptions, t.Names,
			strings.TrimSuffix(t.schema, "."), attached)
	}
	return &own, nil
}

// checkOpen refuses what is no open transaction. The role of the caller may read the table.
func (t *tables) checkOpen(ctx context.Context, tx Tx) error {
	err := t.CheckOpen(ctx, tx, t.text("{oneoff}"))
	if !errors.Is(err, sqldialect.ErrNotOpen) {
		return err
	}
	if _, begun := tx.(interface{ Commit() error }); begun {
		return fmt.Errorf("%w; roll back and try the whole again", err)
	}
	return fmt.Errorf("%w: %w; begin one on the %T", lockrt.ErrOptions, err, tx)
}

// completeIdle is how long a transaction may be silent behind CompleteTx on PostgreSQL: until it ends, nobody takes the
// run over.
const completeIdle = 30 * time.Second

// endIdle is 1. It has the server end the transaction when its client is silent for so many ms, unless that is set to
// less.
const endIdle = `(SELECT CASE WHEN set_config('idle_in_transaction_session_timeout',
  CASE WHEN s.setting::bigint BETWEEN 1 AND %[1]d THEN s.setting ELSE '%[1]d' END, true) = '' THEN 1 ELSE 1 END
FROM pg_settings AS s WHERE s.name = 'idle_in_transaction_session_timeout')`

// homeKey is the key of the row that tells databases apart. No job has an empty namespace.
var homeKey = []any{[]byte{}, []byte("home")}

// inHome is 0 in the store's database and NULL in another one. MySQL does not let a statement read the table that it
// writes, except in a subquery that it works out first.
const inHome = `(SELECT h.zero FROM (SELECT 0 AS zero FROM {oneoff} WHERE namespace = ? AND id = ? AND {home} = ? LIMIT 1) AS h)`

func (t *tables) homeArgs() []any { return append(homeKey[:2:2], t.isHome) }

// putText is one statement: one that is over for long makes room. In MySQL columns are set from left to right, and
// those that come later see what was set. In another database than the store's the row would have a NULL.
func putText(t *tables) (text string, now []any) {
	text = "INSERT INTO {oneoff} (" + join(oneOffTable.columns) + ") VALUES (?, ?, " + inHome + ", ?, ?)"
	over := fmt.Sprintf("{bare:oneoff}.past > 0 AND {bare:oneoff}.past < {now} - %d", jobs.OneOffRetention.Microseconds())
	switch t.Dialect {
	case sqldialect.MySQL:
		return text + " ON DUPLICATE KEY UPDATE at = IF(" + over + ", VALUES(at), at), body = IF(" + over +
			", VALUES(body), body), past = IF(" + over + ", 0, past)", nil
	case sqldialect.SQLite:
		over = fmt.Sprintf("{bare:oneoff}.past > 0 AND {bare:oneoff}.past < ?")
		now = []any{time.Now().Add(-jobs.OneOffRetention).UnixMicro()}
	}
	return text + " ON CONFLICT (" + join(oneOffTable.key) +
		") DO UPDATE SET past = 0, at = excluded.at, body = excluded.body WHERE " + over, now
}

// explainTx is explain for a statement in a caller's transaction.
func (s *Store) explainTx(ctx context.Context, t *tables, err error) error {
	if t.Dialect == sqldialect.SQLite && t.Again(err) { // it may also have read before somebody else has written
		return err
	}
	if t.IsReadOnly(err) && t.Dialect != sqldialect.SQLite {
		return fmt.Errorf("%w: the transaction is read-only, or it is not on the primary", err)
	}
	if !t.IsForeign(err) && !t.IsMissing(err) && !t.IsNull(err) {
		return t.explain(ctx, err)
	}
	s.known.Store(nil) // the tables may have been made again
	where := ""
	if t.Dialect == sqldialect.SQLite {
		where = ", or they are not in the main database of its connection (" + attached + ")"
	}
	return fmt.Errorf("%w: the transaction is in another database than the tables %s of the store%s, or they were made again "+
		"since: %w", lockrt.ErrOptions, t.Names, where, err)
}

// PgxTx adapts a pgx.Tx for [Store.PutTx] and [Store.CompleteTx].
func PgxTx[T interface{ RowsAffected() int64 }](
	tx interface {
		Exec(ctx context.Context, query string, args ...any) (T, error)
	},
) Tx {
	if sqldialect.IsNothing(tx) {
		return pgxTx(nil)
	}
	return pgxTx(func(ctx context.Context, query string, args ...any) (int64, error) {
		tag, err := tx.Exec(ctx, query, args...)
		if err != nil {
			return 0, err
		}
		return tag.RowsAffected(), nil
	})
}

type pgxTx func(ctx context.Context, query string, args ...any) (int64, error)

// ExecContext implements Tx.
func (f pgxTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	n, err := f(ctx, query, args...)
	return rowCount(n), err
}

type rowCount int64

func (n rowCount) RowsAffected() (int64, error) { return int64(n), nil }
func (n rowCount) LastInsertId() (int64, error) {
	return 0, errors.New("PostgreSQL has no LastInsertId")
}
