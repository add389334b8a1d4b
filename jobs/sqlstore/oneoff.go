package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/ledger"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Put implements jobs.Store.
func (s *Store) Put(ctx context.Context, o jobs.OneOff) error {
	n := new(need)
	n.oneOffs.add(o.ID)
	return s.one(ctx, n, func(state *ledger.State, now time.Time) error {
		state.Put(o, now)
		return nil
	}, "store it")
}

// Withdraw implements jobs.Store.
func (s *Store) Withdraw(ctx context.Context, id string) error {
	n := new(need)
	n.oneOffs.add(id)
	return s.one(ctx, n, func(state *ledger.State, _ time.Time) error { return state.Withdraw(id) }, "remove it")
}

// Waiting implements jobs.Store.
func (s *Store) Waiting(ctx context.Context, limit int) ([]jobs.OneOff, error) {
	if limit <= 0 {
		return nil, ctx.Err()
	}
	return s.waiting(ctx, 1<<62, limit)
}

// waiting returns the one-off jobs whose time is up to then.
func (s *Store) waiting(ctx context.Context, until int64, limit int) (all []jobs.OneOff, err error) {
	const text = `SELECT id, body FROM {oneoff} WHERE namespace = ? AND past = 0 AND at <= ? ORDER BY at, id LIMIT ?`
	err = s.read(ctx, text, []any{s.namespace, until, limit}, func(rows *sql.Rows) error {
		var id, body string
		if err := rows.Scan(&id, &body); err != nil {
			return err
		}
		o, err := read[jobs.OneOff]("one-off job "+id, body)
		all = append(all, o)
		return err
	})
	if err != nil {
		return nil, s.in(err, "list one-off jobs")
	}
	return all, nil
}

// Tx is an open transaction: a *sql.Tx, or the equivalent of gorm, ent or sqlc. For pgx see [PgxTx].
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// PutTx stores a one-off job in the caller's transaction: the job exists if and only if the transaction commits. The
// transaction must be in the database of the store: PutTx does not notice another one that has such a table. Its role
// needs the right to select, insert and update in the table of one-off jobs.
//
// As with [jobs.Scheduler.At], nothing changes if a job with the same ID waits, or had its time within the last day. If
// other open transactions have put the same ID, PutTx waits for them. After the commit a node finds the job at its next
// heartbeat. A time in the past means now. The error names what is wrong with o. After every other error roll back.
func (s *Store) PutTx(ctx context.Context, tx Tx, o jobs.OneOff) error {
	if err := o.Check(); err != nil {
		return fmt.Errorf("put one-off job %q: %w", o.ID, err)
	}
	if t, ok := tx.(*sql.Tx); tx == nil || ok && t == nil {
		return fmt.Errorf("put one-off job %q: %w: there is no transaction", o.ID, lockrt.ErrOptions)
	}
	if _, pool := tx.(interface{ SetMaxOpenConns(int) }); pool {
		return fmt.Errorf("put one-off job %q: %w: %T is no transaction, the job would exist whatever becomes of the writes; "+
			"pass the *sql.Tx of the writes", o.ID, lockrt.ErrOptions, tx)
	}
	t, err := s.ready(ctx)
	if err != nil {
		return s.in(err, "put one-off job %q", o.ID)
	}
	o = ledger.Stored(o)
	args := []any{s.namespace, []byte(o.ID), int64(0), micros(o.At), encode(o)}
	text, now := putText(t)
	args = append(args, now...)
	if _, err := tx.ExecContext(ctx, t.text(text), args...); err != nil {
		return s.in(t.explain(ctx, err), "put one-off job %q", o.ID)
	}
	return nil
}

// putText is one statement: one that is over for long makes room. In MySQL columns are set from left to right, and
// those that come later see what was set.
func putText(t *tables) (text string, now []any) {
	text = "INSERT INTO {oneoff} (" + join(oneOffTable.columns) + ") VALUES " + marks(len(oneOffTable.columns))
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

// PgxTx adapts a pgx.Tx for [Store.PutTx].
func PgxTx[T interface{ RowsAffected() int64 }](
	tx interface {
		Exec(ctx context.Context, query string, args ...any) (T, error)
	},
) Tx {
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
