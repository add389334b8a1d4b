package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
	"github.com/lockgen/lockgen/jobs/internal/ledger"
)

// attempts is how often a transaction is tried that meets others.
const attempts = 20

// step does one step of a Store: it locks and reads what need names, has change decide, and writes what that changed,
// in one transaction. change is called again if the transaction has to be repeated.
func (s *Store) step(ctx context.Context, need *need, change func(state *ledger.State, now time.Time)) error {
	t, err := s.ready(ctx)
	if err != nil {
		return err
	}
	if err := need.check(); err != nil {
		return err
	}
	slots := s.steps
	if need.call {
		slots = s.calls
	}
	leave, err := s.enter(ctx, t, slots)
	if err != nil {
		return err
	}
	defer leave()
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if need.shares {
		need.skip = s.locked.among(need.jobs)
	}
	waited := false
	for n := 1; ; n++ {
		err := t.once(limited, s.db, need.lockTime(), func(q querier) error {
			found, err := t.load(limited, q, s.namespace, need)
			if err != nil {
				return err
			}
			change(found.state, found.now)
			return t.save(limited, q, s.namespace, need, found)
		})
		switch {
		case err == nil:
			s.locked.note(need)
		case !t.IsLockTimeout(err):
		case need.shares && !need.skips():
			need.skip, need.skipsSessions = need.jobs, true
			continue
		case need.shares || need.spec:
			return t.explain(ctx, fmt.Errorf("%w: %w", errLockedRow, err))
		default:
			waited = true
		}
		if errors.Is(err, errCompleting) && !need.skipsRuns {
			need.skipsRuns = true
			continue
		}
		again := err != nil && (t.Again(err) || t.IsDuplicate(err) || errors.Is(err, errCompleting))
		if err != nil && waited && limited.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w for %s", errLockedRow, callTime)
		}
		if !again || n == attempts || limited.Err() != nil {
			return t.explain(ctx, err)
		}
		need.recount = need.recount || t.IsDuplicate(err)
		pause := time.Duration(rand.Int64N(int64(min(n, 10)) * int64(5*time.Millisecond)))
		select {
		case <-limited.Done():
		case <-time.After(pause):
		}
	}
}

// enter waits for one of some slots: a store leaves connections of the pool to others, and with SQLite, whose waiters
// have no order, its calls take turns. Where there are none, as for signs of life, nobody waits: a node whose slots are
// all taken by what waits for a row would be taken for dead.
func (s *Store) enter(ctx context.Context, t *tables, slots chan struct{}) (leave func(), err error) {
	if t.Dialect == sqldialect.SQLite {
		slots = s.single
	}
	if slots == nil {
		return func() {}, nil
	}
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, t.silent(ctx.Err())
	}
}

// once runs f in a transaction. In all of them a statement sees what was committed before it began, so that what is
// read after the locks were taken is current. No statement waits for a lock for longer than wait.
func (t *tables) once(ctx context.Context, db *sql.DB, wait time.Duration, f func(querier) error) error {
	if t.Dialect == sqldialect.SQLite {
		return sqldialect.Immediate(ctx, db, func(conn *sql.Conn) error { return f(conn) })
	}
	begin := db.BeginTx
	if t.session {
		conn, leave, err := bounded(ctx, db, wait)
		if err != nil {
			return err
		}
		defer leave()
		begin = conn.BeginTx
	}
	tx, err := begin(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	if t.limits != "" {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf(t.limits, wait.Milliseconds())); err != nil {
			return err
		}
	}
	if err := f(t.waiting(tx, wait)); err != nil {
		return err
	}
	return tx.Commit()
}
