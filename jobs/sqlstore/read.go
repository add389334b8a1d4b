package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
	"github.com/lockgen/lockgen/jobs"
)

// read runs a statement outside of a transaction.
func (s *Store) read(ctx context.Context, text string, args []any, scan func(*sql.Rows) error) error {
	t, err := s.ready(ctx)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return t.explain(ctx, t.query(limited, s.db, text, args, scan))
}

// readIn is the same for a list of names.
func (s *Store) readIn(
	ctx context.Context, text string, names []string, after string, scan func(*sql.Rows) error,
) error {
	t, err := s.ready(ctx)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return t.explain(ctx, t.selectIn(limited, s.db, text, s.namespace, names, after, scan))
}

// Look implements jobs.Store. A job and its runs are read in one statement, so that they are of one moment.
func (s *Store) Look(ctx context.Context, names []string) (v jobs.View, err error) {
	if v.Now, err = s.now(ctx); err != nil {
		return jobs.View{}, s.in(err, "ask for the time")
	}
	views := make(map[string]*jobs.JobView, len(names))
	for _, name := range names {
		views[name] = &jobs.JobView{}
	}
	for some := range slices.Chunk(names, mostRows) {
		if err := s.lookAt(ctx, some, views); err != nil {
			return jobs.View{}, s.in(err, "look at %d jobs", len(names))
		}
	}
	for _, name := range names {
		v.Jobs = append(v.Jobs, *views[name])
	}
	return v, nil
}

func (s *Store) now(ctx context.Context) (time.Time, error) {
	t, err := s.ready(ctx)
	if err != nil {
		return time.Time{}, err
	}
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	now, err := t.clock(limited, s.db)
	return now, t.explain(ctx, err)
}

func (s *Store) lookAt(ctx context.Context, names []string, views map[string]*jobs.JobView) error {
	t, err := s.ready(ctx)
	if err != nil {
		return err
	}
	text, args := t.lookAt(s.namespace, names)
	return s.read(ctx, text, args, func(rows *sql.Rows) error {
		var r jobRow
		var name, id, owner, body string
		var completed int64
		err := rows.Scan(&name, &r.cursor, &r.owed, &r.paused, &r.switched, &r.missed, &r.epoch, &r.seen, &r.spec, &id, &owner,
			&body, &completed)
		if err != nil {
			return err
		}
		view := views[name]
		if id != "" {
			p, err := readRun(id, owner, body, completed)
			view.InFlight = append(view.InFlight, p)
			return err
		}
		j, err := r.read(name)
		if err == nil {
			*view = j.View(name)
		}
		return err
	})
}

// lookAt is a statement that reads jobs with their runs.
func (t *tables) lookAt(namespace []byte, names []string) (text string, args []any) {
	text = `SELECT name, tick_cursor, owed, paused, switched, missed, epoch, seen, spec, '' AS id, '' AS owner, '' AS body,
  0 AS completed
FROM {job} WHERE namespace = ? AND name %[1]s
UNION ALL SELECT job, 0, '', '', 0, 0, '', 0, '', id, owner, body, completed
FROM {run} WHERE namespace = ? AND job %[1]s`
	if t.Dialect == sqldialect.Postgres {
		return t.perKey(fmt.Sprintf(text, "= wanted.it")) + ` ORDER BY id`,
			[]any{sqldialect.Array(sqldialect.Hex(names)), namespace, namespace}
	}
	list := padded(names)
	args = withKeys(namespace, list)
	return fmt.Sprintf(text, "IN "+placeholders(len(list))) + ` ORDER BY id`, append(args, args...)
}

// Cursors implements jobs.Store.
func (s *Store) Cursors(ctx context.Context, names []string) ([]time.Time, error) {
	found := make(map[string]int64, len(names))
	const text = `SELECT name, tick_cursor FROM {job} WHERE namespace = ? AND name IN `
	err := s.readIn(ctx, text, names, ``, func(rows *sql.Rows) error {
		var name string
		var cursor int64
		err := rows.Scan(&name, &cursor)
		found[name] = cursor
		return err
	})
	if err != nil {
		return nil, s.in(err, "read the cursors of %d jobs", len(names))
	}
	cursors := make([]time.Time, len(names))
	for i, name := range names {
		cursors[i] = fromMicros(found[name])
	}
	return cursors, nil
}

// Epochs implements jobs.Store.
func (s *Store) Epochs(ctx context.Context, names []string) ([]string, error) {
	found := make(map[string]string, len(names))
	const text = `SELECT name, epoch FROM {job} WHERE namespace = ? AND name IN `
	err := s.readIn(ctx, text, names, ``, func(rows *sql.Rows) error {
		var name, epoch string
		err := rows.Scan(&name, &epoch)
		found[name] = epoch
		return err
	})
	if err != nil {
		return nil, s.in(err, "read the epochs of %d jobs", len(names))
	}
	epochs := make([]string, len(names))
	for i, name := range names {
		epochs[i] = found[name]
	}
	return epochs, nil
}

// InFlight implements jobs.Store.
func (s *Store) InFlight(ctx context.Context) ([]jobs.InFlight, error) {
	all, err := s.flights(ctx, `SELECT id, owner, body, completed FROM {run} WHERE namespace = ?`, s.namespace)
	if err != nil {
		return nil, s.in(err, "list the runs in flight")
	}
	return all, nil
}

// flights reads the runs in flight that a statement finds.
func (s *Store) flights(ctx context.Context, text string, args ...any) (all []jobs.InFlight, err error) {
	err = s.read(ctx, text, args, func(rows *sql.Rows) error {
		var id, owner, body string
		var completed int64
		if err := rows.Scan(&id, &owner, &body, &completed); err != nil {
			return err
		}
		p, err := readRun(id, owner, body, completed)
		all = append(all, p)
		return err
	})
	return all, err
}

// Runs implements jobs.Store.
func (s *Store) Runs(ctx context.Context, names []string, limit int) ([][]jobs.Run, error) {
	all, found := make([][]jobs.Run, len(names)), make(map[string][]jobs.Run, len(names))
	if limit <= 0 {
		return all, ctx.Err()
	}
	text := fmt.Sprintf(`SELECT r.job, r.body FROM {record} r JOIN {job} j ON j.namespace = r.namespace AND j.name = r.job
WHERE r.namespace = ? AND r.seq > j.newest - %d AND r.job IN `, limit)
	err := s.readIn(ctx, text, names, ` ORDER BY r.job, r.seq DESC`, func(rows *sql.Rows) error {
		var job, body string
		if err := rows.Scan(&job, &body); err != nil {
			return err
		}
		run, err := read[jobs.Run]("a record of job "+job, body)
		found[job] = append(found[job], run)
		return err
	})
	if err != nil {
		return nil, s.in(err, "list runs of %d jobs", len(names))
	}
	for i, name := range names {
		all[i] = found[name]
	}
	return all, nil
}
