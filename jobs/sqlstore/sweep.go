package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

const (
	// sweepEvery is how often a process deletes what nobody wants any more.
	sweepEvery = 10 * time.Minute
	// pruneEvery is after how many failures it deletes old ones.
	pruneEvery = 50
	// sessionRetention is how long a session is remembered after its end.
	sessionRetention = 24 * time.Hour
	// sweepJobs is how many jobs are forgotten at a time.
	sweepJobs = 100
	// sweepRows is how many rows of another kind are deleted at a time.
	sweepRows = mostRows
)

// sweep calls Sweep now and then. What it cannot delete the next one will.
func (s *Store) sweep(ctx context.Context) {
	last, now := s.swept.Load(), time.Now().UnixMicro()
	if now-last < sweepEvery.Microseconds() || !s.swept.CompareAndSwap(last, now) {
		return
	}
	_ = s.Sweep(ctx)
}

// Sweep deletes expired data: the IDs of one-off jobs that ran more than a day ago, sessions and notices of dead nodes,
// all but the newest failures, and jobs that no node has registered for a year. Nodes call it every ten minutes by
// themselves. It blocks until that is done or ctx ends.
func (s *Store) Sweep(ctx context.Context) error {
	if err := s.sweepAll(ctx); err != nil {
		return s.in(err, "delete what is old")
	}
	return nil
}

func (s *Store) sweepAll(ctx context.Context) error {
	t, err := s.ready(ctx)
	if err != nil {
		return err
	}
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	before := func(age time.Duration) int64 { return micros(now.Add(-age)) }
	for _, old := range []struct {
		of    *table
		which string
		args  []any
	}{
		{oneOffTable, `past > 0 AND past < ?`, []any{before(jobs.OneOffRetention)}},
		{nodeTable, `alive < ? AND beat < ?`, []any{before(sessionRetention), before(sessionRetention)}},
		{noticeTable, `at < ? AND NOT EXISTS (SELECT 1 FROM {run} r
WHERE r.namespace = {notice}.namespace AND r.id = {notice}.run)`, []any{before(jobs.NoticeRetention)}},
	} {
		if err := s.deleteOld(ctx, t, old.of, old.which, old.args...); err != nil {
			return err
		}
	}
	s.failures.Store(pruneEvery)
	s.pruneFailures(ctx, 1)
	return s.forgetJobs(ctx, t, before(jobs.JobRetention))
}

// deleteOld deletes rows of which a condition holds. It waits for none that others have locked, as a transaction of the
// application has that has put a one-off job again: those are for the next time.
func (s *Store) deleteOld(ctx context.Context, t *tables, of *table, which string, args ...any) error {
	text := `SELECT ` + of.key[1] + ` FROM {` + of.name + `} WHERE namespace = ? AND ` + which + ` LIMIT ?` + t.skipLocked
	args = append(append([]any{s.namespace}, args...), sweepRows)
	for {
		n := 0
		err := s.inStep(ctx, t, func(ctx context.Context, q querier) error {
			var keys []string
			err := t.query(ctx, q, text, args, func(rows *sql.Rows) error {
				var key string
				err := rows.Scan(&key)
				keys = append(keys, key)
				return err
			})
			if err == nil {
				_, err = t.remove(ctx, q, of, s.namespace, keys, "")
			}
			n = len(keys)
			return err
		})
		if err != nil || n < sweepRows {
			return err
		}
	}
}

// inStep runs f in a transaction that takes its turn with those of schedulers.
func (s *Store) inStep(ctx context.Context, t *tables, f func(context.Context, querier) error) error {
	leave, err := s.enter(ctx, t, s.steps)
	if err != nil {
		return err
	}
	defer leave()
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err = t.once(limited, s.db, soonLocks, func(q querier) error { return f(limited, q) })
	return t.explain(ctx, err)
}

// pruneFailures deletes failures but the newest, now and then.
func (s *Store) pruneFailures(ctx context.Context, added int) {
	if added == 0 || s.failures.Add(int64(added)) < pruneEvery {
		return
	}
	s.failures.Store(0)
	t, err := s.ready(ctx)
	if err != nil {
		return
	}
	var at int64
	const text = `SELECT at FROM {failure} WHERE namespace = ? ORDER BY at DESC LIMIT 1 OFFSET ?`
	err = s.read(ctx, text, []any{s.namespace, jobs.KeptFailures}, func(rows *sql.Rows) error { return rows.Scan(&at) })
	if err == nil && at > 0 {
		_ = s.inStep(ctx, t, func(ctx context.Context, q querier) error { // or the next time
			_, err := t.exec(ctx, q, `DELETE FROM {failure} WHERE namespace = ? AND at < ?`, s.namespace, at)
			return err
		})
	}
}

// forgetJobs deletes jobs that nobody has registered for long, with their records, unless they have a run, or somebody has
// them locked.
func (s *Store) forgetJobs(ctx context.Context, t *tables, seen int64) error {
	var names []string
	const old = `SELECT name FROM {job} j WHERE namespace = ? AND known > 0 AND seen < ?
AND NOT EXISTS (SELECT 1 FROM {run} r WHERE r.namespace = j.namespace AND r.job = j.name) ORDER BY name LIMIT ?`
	err := s.read(ctx, old, []any{s.namespace, seen, sweepJobs}, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		names = append(names, name)
		return err
	})
	if err != nil || len(names) == 0 {
		return err
	}
	return s.inStep(ctx, t, func(ctx context.Context, q querier) error {
		n := new(need)
		n.jobs.add(names...)
		n.runsOf.add(names...)
		n.skip = n.jobs
		f, err := t.load(ctx, q, s.namespace, n)
		if err != nil {
			return err
		}
		used := make(map[string]bool)
		for _, p := range f.state.InFlight {
			used[p.Run.Job] = true
		}
		var gone []string
		for name, r := range f.jobs {
			if r.seen < seen && !used[name] {
				gone = append(gone, name)
			}
		}
		if _, err := t.remove(ctx, q, recordTable, s.namespace, gone, ""); err != nil {
			return err
		}
		_, err = t.remove(ctx, q, jobTable, s.namespace, gone, "")
		return err
	})
}
