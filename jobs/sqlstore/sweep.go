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
		text string
		args []any
	}{
		{`DELETE FROM {oneoff} WHERE namespace = ? AND past > 0 AND past < ?`,
			[]any{s.namespace, before(jobs.OneOffRetention)}},
		{`DELETE FROM {node} WHERE namespace = ? AND alive < ? AND beat < ?`,
			[]any{s.namespace, before(sessionRetention), before(sessionRetention)}},
		{`DELETE FROM {notice} WHERE namespace = ? AND at < ? AND NOT EXISTS (SELECT 1 FROM {run} r
WHERE r.namespace = {notice}.namespace AND r.id = {notice}.run)`, []any{s.namespace, before(jobs.NoticeRetention)}},
	} {
		if err := s.delete(ctx, t, old.text, old.args...); err != nil {
			return err
		}
	}
	s.failures.Store(pruneEvery)
	s.pruneFailures(ctx, 1)
	return s.forgetJobs(ctx, t, before(jobs.JobRetention))
}

func (s *Store) delete(ctx context.Context, t *tables, text string, args ...any) error {
	leave, err := s.enter(ctx, t, s.steps)
	if err != nil {
		return err
	}
	defer leave()
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err = t.exec(limited, s.db, text, args...)
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
		_ = s.delete(ctx, t, `DELETE FROM {failure} WHERE namespace = ? AND at < ?`, s.namespace, at) // or the next time
	}
}

// forgetJobs deletes jobs that nobody has registered for long, with their records, unless they have a run.
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
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	leave, err := s.enter(ctx, t, s.steps)
	if err != nil {
		return err
	}
	defer leave()
	return t.once(limited, s.db, soonLocks, func(q querier) error {
		n := new(need)
		n.jobs.add(names...)
		n.runsOf.add(names...)
		f, err := t.load(limited, q, s.namespace, n)
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
		if _, err := t.remove(limited, q, recordTable, s.namespace, gone, ""); err != nil {
			return err
		}
		_, err = t.remove(limited, q, jobTable, s.namespace, gone, "")
		return err
	})
}
