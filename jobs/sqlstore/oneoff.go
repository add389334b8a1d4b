package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/ledger"
)

// Put implements jobs.Store. It looks first, so that it waits for no transaction of the application that has put a job
// again which is known.
func (s *Store) Put(ctx context.Context, o jobs.OneOff) error {
	if err := o.Check(); err != nil {
		return s.in(err, "store it")
	}
	n := &need{call: true}
	n.oneOffs.add(o.ID)
	known, err := s.isKnown(ctx, o.ID)
	if err != nil {
		return s.in(err, "store it")
	}
	if known {
		return nil
	}
	return s.one(ctx, n, func(state *ledger.State, now time.Time) error {
		state.Put(o, now)
		return nil
	}, "store it")
}

// isKnown reports whether a one-off job waits, or had its time within the last day.
func (s *Store) isKnown(ctx context.Context, id string) (bool, error) {
	const text = `SELECT past FROM {oneoff} WHERE namespace = ? AND id = ?`
	past := int64(-1)
	err := s.read(ctx, text, []any{s.namespace, []byte(id)}, func(rows *sql.Rows) error { return rows.Scan(&past) })
	if err != nil || past <= 0 {
		return past == 0, err
	}
	now, err := s.now(ctx)
	return now.Sub(fromMicros(past)) <= jobs.OneOffRetention, err
}

// Withdraw implements jobs.Store.
func (s *Store) Withdraw(ctx context.Context, id string) error {
	n := &need{call: true}
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
func (s *Store) waiting(ctx context.Context, until int64, limit int) ([]jobs.OneOff, error) {
	const text = `SELECT id, body FROM {oneoff} WHERE namespace = ? AND past = 0 AND at <= ? ORDER BY at, id LIMIT ?`
	return s.oneOffs(ctx, text, s.namespace, until, limit)
}

// waitingAfter is waiting for those behind one.
func (s *Store) waitingAfter(ctx context.Context, at int64, id string, until int64, limit int) ([]jobs.OneOff, error) {
	const text = `SELECT id, body FROM {oneoff} WHERE namespace = ? AND past = 0 AND at >= ? AND (at > ? OR id > ?) AND at <= ?
ORDER BY at, id LIMIT ?`
	return s.oneOffs(ctx, text, s.namespace, at, at, []byte(id), until, limit)
}

func (s *Store) oneOffs(ctx context.Context, text string, args ...any) (all []jobs.OneOff, err error) {
	err = s.read(ctx, text, args, func(rows *sql.Rows) error {
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
