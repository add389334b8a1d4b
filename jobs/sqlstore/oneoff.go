package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/ledger"
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
