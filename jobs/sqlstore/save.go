package sqlstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/lockgen/lockgen/internal/sqldialect"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/ledger"
)

// save writes what differs from what was found. What was not there is inserted; if somebody else has done so meanwhile,
// the error is a duplicate, and the step is taken again.
func (t *tables) save(ctx context.Context, q querier, namespace []byte, n *need, f *found) error {
	for _, part := range []func(context.Context, querier, []byte, *need, *found) error{
		t.saveJobs, t.saveOneOffs, t.saveRuns, t.saveNotices, t.saveRecords, t.saveFailures, t.saveSessions,
	} {
		if err := part(ctx, q, namespace, n, f); err != nil {
			return err
		}
	}
	return nil
}

// jobChanges are the columns that are written of a job; its definitions seldom are.
var jobChanges = jobColumns[2 : len(jobColumns)-2]

func (t *tables) saveJobs(ctx context.Context, q querier, namespace []byte, n *need, f *found) error {
	var fresh, changed [][]any
	has := make(map[string]bool)
	for _, p := range f.state.InFlight {
		has[p.Run.Job] = true
	}
	for _, name := range slices.Sorted(maps.Keys(f.state.Jobs)) {
		j := f.state.Jobs[name]
		before, known := f.jobs[name]
		if !known && isNothing(j, f.left[name]) && !has[name] {
			continue
		}
		after := write(name, j, before, n.spec)
		if keep, gets := n.keep[name]; gets {
			after.oldest = max(after.oldest, after.newest-int64(keep)+1)
		}
		switch {
		case !known:
			fresh = append(fresh, after.values(namespace, name))
		case after != before:
			changed = append(changed, after.values(namespace, name))
		}
	}
	if err := t.insert(ctx, q, jobTable, fresh); err != nil {
		return err
	}
	columns := jobChanges
	if n.spec {
		columns = jobColumns[2:]
	}
	return t.upsert(ctx, q, jobTable, columns, changed)
}

// isNothing reports whether nothing is to be kept of a job that was not known, unless it has a run. left is its newest
// record, of which the row is gone.
func isNothing(j *ledger.Job, left int64) bool {
	return j.Cursor.IsZero() && j.Switched == 0 && j.Kept == left && !j.Spec.IsKnown()
}

func (t *tables) saveOneOffs(ctx context.Context, q querier, namespace []byte, n *need, f *found) error {
	var fresh, changed [][]any
	var gone []string
	for _, id := range n.oneOffs.sorted() {
		o, waits := f.state.Waiting[id]
		past := f.state.Past[id]
		before, known := f.oneOffs[id]
		switch {
		case !waits && past.IsZero() && known:
			gone = append(gone, id)
		case !waits && past.IsZero():
		case !known:
			fresh = append(fresh, oneOffValues(namespace, id, waits, o, micros(past)))
		case before != waits:
			changed = append(changed, oneOffValues(namespace, id, waits, o, micros(past)))
		}
	}
	if err := t.insert(ctx, q, oneOffTable, fresh); err != nil {
		return err
	}
	if err := t.upsert(ctx, q, oneOffTable, oneOffTable.columns[2:], changed); err != nil {
		return err
	}
	_, err := t.remove(ctx, q, oneOffTable, namespace, gone, "")
	return err
}

func oneOffValues(namespace []byte, id string, waits bool, o jobs.OneOff, past int64) []any {
	if !waits {
		return []any{namespace, []byte(id), past, past, ""}
	}
	return []any{namespace, []byte(id), int64(0), micros(o.At), encode(o)}
}

func (t *tables) saveRuns(ctx context.Context, q querier, namespace []byte, n *need, f *found) error {
	var fresh, changed [][]any
	var gone, open []string
	for _, id := range slices.Sorted(maps.Keys(f.state.InFlight)) {
		p := f.state.InFlight[id]
		values := []any{namespace, []byte(id), []byte(p.Run.Job), []byte(p.Owner), encode(p)}
		if body, known := f.runs[id]; !known {
			fresh = append(fresh, values)
		} else if body != values[4] || f.owners[id] != p.Owner {
			changed = append(changed, values)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(f.runs)) {
		if _, stays := f.state.InFlight[id]; !stays {
			if f.done[id] {
				gone = append(gone, id)
			} else {
				open = append(open, id)
			}
		}
	}
	if err := t.removeRuns(ctx, q, namespace, n, open, "completed = 0 AND "); err != nil {
		return err
	}
	if err := t.removeRuns(ctx, q, namespace, n, gone, ""); err != nil {
		return err
	}
	if err := t.insert(ctx, q, runTable, fresh); err != nil {
		return err
	}
	return t.upsert(ctx, q, runTable, runTable.columns[2:], changed)
}

// errCompleting says that a run was completed since it was read, or that the transaction of its work has locked it: the
// step is taken again, without those that are locked.
var errCompleting = errors.New("a run was or is being completed")

// removeRuns deletes runs that are as they were read. It waits for no transaction of the work of one, which may be that of
// a node that has stopped there.
func (t *tables) removeRuns(
	ctx context.Context, q querier, namespace []byte, n *need, ids []string, condition string,
) error {
	if t.Dialect == sqldialect.MySQL && !n.skipsRuns { // which can leave rows out only where it reads
		const text = `SELECT id FROM {run} WHERE namespace = ? AND `
		free, err := t.keys(ctx, q, text+condition+`id IN `, namespace, ids, t.skipLocked, t.lockIn)
		if err != nil {
			return err
		}
		if len(free) < len(ids) {
			return errCompleting
		}
	}
	removed, err := t.remove(ctx, q, runTable, namespace, ids, condition)
	if err == nil && removed < int64(len(ids)) {
		err = errCompleting
	}
	return err
}

func (t *tables) saveNotices(ctx context.Context, q querier, namespace []byte, n *need, f *found) error {
	var rows [][]any
	var gone []string
	for _, run := range n.runs.sorted() {
		notice, there := f.state.Notices[run]
		if there {
			rows = append(rows, []any{namespace, []byte(run), []byte(notice.Owner), micros(notice.At), encode(notice.Notice)})
		} else if f.notices[run] {
			gone = append(gone, run)
		}
	}
	if err := t.upsert(ctx, q, noticeTable, noticeTable.columns[2:], rows); err != nil {
		return err
	}
	_, err := t.remove(ctx, q, noticeTable, namespace, gone, "")
	return err
}

// saveRecords writes the records of jobs that got one. They are numbered without gaps: where one takes the place of an
// earlier one, those between them move up.
func (t *tables) saveRecords(ctx context.Context, q querier, namespace []byte, n *need, f *found) error {
	var fresh, changed [][]any
	var old [][]any
	for _, job := range slices.Sorted(maps.Keys(n.keep)) {
		j := f.state.Jobs[job]
		if j == nil || j.Recorded.IsZero() {
			continue
		}
		before, ats := make(map[int64]recordRow), make(map[string]int64)
		for _, r := range f.records[job] {
			before[r.seq], ats[r.id] = r, r.at
		}
		for i, run := range j.Runs {
			seq, at := j.Kept-int64(len(j.Runs)-1-i), ats[run.ID]
			if at == 0 || i == len(j.Runs)-1 {
				at = micros(j.Recorded)
			}
			values := []any{namespace, []byte(job), seq, at, encode(run)}
			if r, known := before[seq]; !known {
				fresh = append(fresh, values)
			} else if r.body != values[4] || r.at != at {
				changed = append(changed, values)
			}
		}
		if first, last := max(f.jobs[job].oldest, 1), j.Kept-int64(n.keep[job]); first <= last {
			old = append(old, []any{[]byte(job), first, last})
		}
	}
	if err := t.insert(ctx, q, recordTable, fresh); err != nil {
		return err
	}
	if err := t.upsert(ctx, q, recordTable, recordTable.columns[3:], changed); err != nil || len(old) == 0 {
		return err
	}
	args, conditions := []any{namespace}, make([]string, 0, len(old))
	for _, r := range padded(old) {
		conditions, args = append(conditions, `job = ? AND seq >= ? AND seq <= ?`), append(args, r...)
	}
	_, err := t.exec(ctx, q, `DELETE FROM {record} WHERE namespace = ? AND (`+strings.Join(conditions, ` OR `)+`)`, args...)
	return err
}

func (t *tables) saveFailures(ctx context.Context, q querier, namespace []byte, _ *need, f *found) error {
	var rows [][]any
	for _, run := range f.state.Failures {
		rows = append(rows, []any{namespace, micros(f.now), []byte(run.ID), encode(run)})
	}
	return t.upsert(ctx, q, failureTable, []string{"body"}, rows)
}

// saveSessions makes leases last longer. Only a heartbeat ends one: it writes what is exact.
func (t *tables) saveSessions(ctx context.Context, q querier, namespace []byte, _ *need, f *found) error {
	var rows [][]any
	for _, session := range slices.Sorted(maps.Keys(f.state.Alive)) {
		if before, known := f.alive[session]; known && before.Equal(f.state.Alive[session]) {
			continue
		}
		rows = append(rows, []any{namespace, []byte(session), micros(f.state.Alive[session]), int64(0), ""})
	}
	own, given := "{bare:node}.alive", "excluded.alive"
	if t.Dialect == sqldialect.MySQL {
		given = "VALUES(alive)"
	}
	set := "alive = " + t.greatest + "(" + own + ", " + given + ")"
	return t.write(ctx, q, nodeTable, rows, t.onConflict(nodeTable, set))
}
