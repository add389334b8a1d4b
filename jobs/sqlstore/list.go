package sqlstore

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/merge"
)

// listStretch is how many names one statement of a search looks at.
const listStretch = 1000

// lists are the conditions of the jobs in a state. Each has an index by name.
var lists = map[jobs.JobState]string{
	jobs.StateAny: "known = 1", jobs.StateHandler: "known = 2", jobs.StateFailing: "failing = 1",
	jobs.StatePaused: "pausing = 1", jobs.StateMissed: "missing = 1", jobs.StateNever: "never = 1",
}

// List implements jobs.Store.
func (s *Store) List(ctx context.Context, q jobs.ListQuery) (jobs.ListPage, error) {
	page, err := s.list(ctx, q)
	if err != nil {
		return jobs.ListPage{}, s.in(err, "list jobs")
	}
	return page, nil
}

func (s *Store) list(ctx context.Context, q jobs.ListQuery) (page jobs.ListPage, err error) {
	state, ok := lists[q.State]
	if !ok {
		return page, ctx.Err()
	}
	want := max(q.Limit, 0) + 1 // one more tells whether there are others
	stretch := want
	if q.Searches() {
		stretch = max(want, listStretch)
	}
	var names []string // in the order of reading
	for from, more := q.From, true; more && len(names) < want; {
		var some []string
		if some, from, more, err = s.stretch(ctx, state, &q, from, stretch); err != nil {
			return page, err
		}
		names = append(names, some[:min(len(some), want-len(names))]...)
	}
	before := 0
	if !q.Searches() && (q.From != "" || q.Back) {
		if before, err = s.countBefore(ctx, state, &q); err != nil {
			return page, err
		}
	}
	if q.Back {
		slices.Reverse(names)
		before -= len(names)
	}
	return q.Page(names, before), nil
}

// stretch reads on in a list, and returns those that are asked for, the last name that it has looked at, and whether
// there are others.
func (s *Store) stretch(
	ctx context.Context, state string, q *jobs.ListQuery, from string, limit int,
) (found []string, last string, more bool, err error) {
	columns := `name, '' AS search, seen`
	if len(q.Search) > 0 {
		columns = `name, search, seen`
	}
	text, args := `SELECT `+columns+` FROM {job} WHERE namespace = ? AND `+state, []any{s.namespace}
	compare, order := ` AND name > ?`, ` ORDER BY name LIMIT ?`
	if q.Back {
		compare, order = ` AND name < ?`, ` ORDER BY name DESC LIMIT ?`
	}
	if from != "" {
		text, args = text+compare, append(args, []byte(from))
	}
	n := 0
	err = s.read(ctx, text+order, append(args, limit), func(rows *sql.Rows) error {
		var search string
		var seen int64
		if err := rows.Scan(&last, &search, &seen); err != nil {
			return err
		}
		if n++; q.Finds(search, fromMicros(seen)) {
			found = append(found, last)
		}
		return nil
	})
	return found, last, n == limit, err
}

// countBefore counts the jobs of a state before where the reading begins.
func (s *Store) countBefore(ctx context.Context, state string, q *jobs.ListQuery) (n int, err error) {
	text, args := `SELECT count(*) FROM {job} WHERE namespace = ? AND `+state, []any{s.namespace}
	if q.From != "" && q.Back {
		text += ` AND name < ?`
	} else if q.From != "" {
		text += ` AND name <= ?`
	}
	if q.From != "" {
		args = append(args, []byte(q.From))
	}
	err = s.read(ctx, text, args, func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

// Count implements jobs.Store.
func (s *Store) Count(ctx context.Context, unseenSince time.Time) (n jobs.JobCount, err error) {
	count := func(condition string) string {
		return `(SELECT count(*) FROM {job} WHERE namespace = ? AND ` + condition + `)`
	}
	text := `SELECT ` + count("known = 1") + `, ` + count("failing = 1") + `, ` + count("pausing = 1") + `, ` +
		count("missing = 1") + `, ` + count("never = 1") + `,
(SELECT coalesce(sum(missed), 0) FROM {job} WHERE namespace = ? AND missed > 0), ` + count("known = 1 AND seen < ?")
	ns := s.namespace
	err = s.read(ctx, text, []any{ns, ns, ns, ns, ns, ns, ns, micros(unseenSince)}, func(rows *sql.Rows) error {
		return rows.Scan(&n.Jobs, &n.Failing, &n.Paused, &n.Missed, &n.Never, &n.Ticks, &n.Unseen)
	})
	if err != nil {
		return jobs.JobCount{}, s.in(err, "count jobs")
	}
	return n, nil
}

// Latest implements jobs.Store. It reads the newest records of all, until there are enough different jobs among them.
func (s *Store) Latest(ctx context.Context, limit int) (latest []jobs.LatestRecord, err error) {
	const text = `SELECT r.job, max(r.at) AS latest FROM (SELECT namespace, job, at FROM {record} WHERE namespace = ?
ORDER BY at DESC LIMIT ?) r JOIN {job} j ON j.namespace = r.namespace AND j.name = r.job WHERE j.known > 0
GROUP BY r.job ORDER BY latest DESC, r.job LIMIT ?`
	if limit <= 0 {
		return nil, ctx.Err()
	}
	for window := 4 * limit; ; window *= 4 {
		latest = nil
		err = s.read(ctx, text, []any{s.namespace, window, limit}, func(rows *sql.Rows) error {
			var job string
			var at int64
			err := rows.Scan(&job, &at)
			latest = append(latest, jobs.LatestRecord{Job: job, At: fromMicros(at)})
			return err
		})
		if err != nil {
			return nil, s.in(err, "list the jobs that ran last")
		}
		if len(latest) == limit {
			return latest, nil
		}
		records := 0
		const count = `SELECT count(*) FROM (SELECT 1 FROM {record} WHERE namespace = ? LIMIT ?) r`
		err = s.read(ctx, count, []any{s.namespace, window}, func(rows *sql.Rows) error { return rows.Scan(&records) })
		if err != nil {
			return nil, s.in(err, "list the jobs that ran last")
		}
		if records < window {
			return latest, nil
		}
	}
}

// MostMissed implements jobs.Store.
func (s *Store) MostMissed(ctx context.Context, limit int) (names []string, err error) {
	const text = `SELECT name FROM {job} WHERE namespace = ? AND missed > 0 AND missing = 1
ORDER BY missed DESC, name LIMIT ?`
	if limit <= 0 {
		return nil, ctx.Err()
	}
	err = s.read(ctx, text, []any{s.namespace, limit}, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		names = append(names, name)
		return err
	})
	if err != nil {
		return nil, s.in(err, "list the jobs that missed ticks")
	}
	return names, nil
}

// Failures implements jobs.Store.
func (s *Store) Failures(ctx context.Context, limit int) (failures []jobs.Run, err error) {
	const text = `SELECT id, body FROM {failure} WHERE namespace = ? ORDER BY at DESC, id LIMIT ?`
	if limit <= 0 {
		return nil, ctx.Err()
	}
	err = s.read(ctx, text, []any{s.namespace, limit}, func(rows *sql.Rows) error {
		var id, body string
		if err := rows.Scan(&id, &body); err != nil {
			return err
		}
		run, err := read[jobs.Run]("failure "+id, body)
		failures = append(failures, run)
		return err
	})
	if err != nil {
		return nil, s.in(err, "list failures")
	}
	return merge.Failures(limit, failures), nil
}
