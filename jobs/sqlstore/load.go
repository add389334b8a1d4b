package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/ledger"
)

// need is what a step is about. The row of a job is the lock of all that belongs to it: its runs, their notices, its
// records. One-off jobs and sessions have rows of their own, which are locked after it.
type need struct {
	jobs     set
	spec     bool // with their definitions
	runs     set  // by ID, with their notices
	runsOf   set  // of jobs
	records  set  // the newest ones of jobs
	oneOffs  set
	sessions set
	keep     map[string]int // how many records to keep of a job that gets one
	recount  bool           // their numbers may not be those in the rows of the jobs

	call   bool // of the application, which may wait long for a row: it has slots of its own
	shares bool // its elements have nothing to do with each other: a job that others have locked may be left out
	skip   set  // jobs that are not waited for
	locked set  // those of them that are left out

	skipsSessions  bool // sessions that others have locked are left out
	lockedSessions set  // which those are
	skipsOneOffs   bool // the same for one-off jobs: they wait for a claim, and are told again
	skipsRuns      bool // the same for runs that transactions of their work have locked
	lockedRuns     set  // which those are
}

// skips reports whether no job is waited for.
func (n *need) skips() bool { return n.skipsSessions && len(n.skip) == len(n.jobs) }

// lockTime is how long the step waits for a lock.
func (n *need) lockTime() time.Duration {
	if n.shares || n.spec {
		return soonLocks
	}
	return lockTime
}

// leftRun is an error if a run was left out.
func (n *need) leftRun(id string) error {
	if n.lockedRuns[id] {
		return errLockedRun
	}
	return nil
}

// left is an error if one of some jobs was left out.
func (n *need) left(jobs ...string) error {
	for _, job := range jobs {
		if n.locked[job] {
			return errLocked
		}
	}
	return nil
}

// leftSession is an error if a session was left out.
func (n *need) leftSession(session string) error {
	if n.lockedSessions[session] {
		return errLockedRow
	}
	return nil
}

// errLocked is the answer about a job that was left out, errLockedRun that about a run, and errLockedRow that where it is
// not known which row it was.
var (
	errLocked    = fmt.Errorf("%w: the row of the job is locked by another transaction", jobs.ErrLocked)
	errLockedRun = fmt.Errorf("%w: a transaction is open in which the run was completed", jobs.ErrLocked)
	errLockedRow = fmt.Errorf("%w: a row that it changes is locked by another transaction", jobs.ErrLocked)
)

type set map[string]bool

func (s *set) add(names ...string) {
	if *s == nil {
		*s = make(set)
	}
	for _, name := range names {
		(*s)[name] = true
	}
}

// sorted is the order in which rows are locked, so that no two transactions wait for each other.
func (s set) sorted() []string { return slices.Sorted(maps.Keys(s)) }

// record says that a record of a job will be kept.
func (n *need) record(r *jobs.Run, keep int) {
	if n.keep == nil {
		n.keep = make(map[string]int)
	}
	n.keep[r.Job] = keep
	if r.Outcome == jobs.OutcomeSkipped {
		n.records.add(r.Job)
	}
}

// What the columns hold. A server may cut off what is longer.
const (
	maxName = 512
	maxID   = 768
)

func (n *need) check() error {
	for _, limit := range []struct {
		what  string
		names set
		most  int
	}{{"name of a job", n.jobs, maxName}, {"ID of a run", n.runs, maxID}, {"ID of a one-off job", n.oneOffs, maxID}} {
		for name := range limit.names {
			if len(name) > limit.most {
				return fmt.Errorf("the %s has %d bytes: use %d at most", limit.what, len(name), limit.most)
			}
		}
	}
	return nil
}

// found is what was read: as a state, and as rows, by which what has changed is told.
type found struct {
	state   *ledger.State
	now     time.Time
	jobs    map[string]jobRow
	runs    map[string]string // body, by ID
	done    map[string]bool   // whether they are completed
	owners  map[string]string
	notices map[string]bool
	oneOffs map[string]bool // whether it waits
	records map[string][]recordRow
	left    map[string]int64 // the newest records of jobs that have no row
	alive   map[string]time.Time
}

type recordRow struct {
	seq, at  int64
	id, body string
}

// load locks and reads. The clock is read after all locks are held, so that it does not stand before the time of
// anything that others have written there.
func (t *tables) load(ctx context.Context, q querier, namespace []byte, n *need) (*found, error) {
	f := &found{
		state: ledger.NewState(), jobs: make(map[string]jobRow), runs: make(map[string]string), done: make(map[string]bool), owners: make(map[string]string),
		notices: make(map[string]bool), oneOffs: make(map[string]bool), records: make(map[string][]recordRow),
		left: make(map[string]int64), alive: make(map[string]time.Time),
	}
	for _, part := range []func(context.Context, querier, []byte, *need, *found) error{
		t.loadJobs, t.loadOneOffs, t.loadSessions, t.lockRuns, t.loadRuns, t.loadRunsOf, t.loadRecords, t.loadLeft,
	} {
		if err := part(ctx, q, namespace, n, f); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (t *tables) loadJobs(ctx context.Context, q querier, namespace []byte, n *need, f *found) error {
	columns := slices.Clone(jobColumns)
	if !n.spec { // they are long, and seldom needed
		columns[len(columns)-2], columns[len(columns)-1] = "'' AS search", "'' AS spec"
	}
	lock := func(names []string, how string) error {
		text := `SELECT ` + join(columns) + ` FROM {job} WHERE namespace = ? AND name IN `
		return t.lockIn(ctx, q, text, namespace, names, ` ORDER BY name`+how, func(rows *sql.Rows) error {
			var r jobRow
			name, err := scanJob(rows, &r)
			if err == nil {
				f.jobs[name] = r
				f.state.Jobs[name], err = r.read(name)
			}
			return err
		})
	}
	waits := slices.DeleteFunc(n.jobs.sorted(), func(name string) bool { return n.skip[name] })
	if err := lock(waits, t.forUpdate); err != nil {
		return err
	}
	skip := n.skip.sorted()
	if err := lock(skip, t.skipLocked); err != nil {
		return err
	}
	left := slices.DeleteFunc(skip, func(name string) bool { _, found := f.jobs[name]; return found })
	return t.locked(ctx, q, `SELECT name FROM {job} WHERE namespace = ? AND name IN `, namespace, left, &n.locked)
}

// locked notes which of the rows that were left out are there, and so are locked.
func (t *tables) locked(ctx context.Context, q querier, text string, namespace []byte, left []string, into *set) (err error) {
	*into, err = t.keys(ctx, q, text, namespace, left, "", t.selectIn)
	return err
}

type selectRows func(
	ctx context.Context, q querier, text string, namespace []byte, keys []string, after string, scan func(*sql.Rows) error,
) error

// keys reads keys of rows.
func (t *tables) keys(
	ctx context.Context, q querier, text string, namespace []byte, keys []string, after string, read selectRows,
) (found set, err error) {
	err = read(ctx, q, text, namespace, keys, after, func(rows *sql.Rows) error {
		var key string
		err := rows.Scan(&key)
		found.add(key)
		return err
	})
	return found, err
}

// lockRuns locks runs that may be deleted, where some were found to be locked, and notes those that are. The row of the
// job is not locked by a transaction of the work that completes a run.
func (t *tables) lockRuns(ctx context.Context, q querier, namespace []byte, n *need, _ *found) error {
	if !n.skipsRuns {
		return nil
	}
	const text = `SELECT id FROM {run} WHERE namespace = ? AND id IN `
	ids := n.runs.sorted()
	free, err := t.keys(ctx, q, text, namespace, ids, ` ORDER BY id`+t.skipLocked, t.lockIn)
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(ids, func(id string) bool { return free[id] })
	return t.locked(ctx, q, text, namespace, left, &n.lockedRuns)
}

func (t *tables) loadOneOffs(ctx context.Context, q querier, namespace []byte, n *need, f *found) error {
	const text = `SELECT id, past, body FROM {oneoff} WHERE namespace = ? AND id IN `
	lock := t.forUpdate
	if n.skipsOneOffs {
		lock = t.skipLocked
	}
	return t.lockIn(ctx, q, text, namespace, n.oneOffs.sorted(), ` ORDER BY id`+lock, func(rows *sql.Rows) error {
		var id, body string
		var past int64
		if err := rows.Scan(&id, &past, &body); err != nil {
			return err
		}
		if f.oneOffs[id] = past == 0; past != 0 {
			f.state.Past[id] = fromMicros(past)
			return nil
		}
		o, err := read[jobs.OneOff]("one-off job "+id, body)
		f.state.Waiting[id] = o
		return err
	})
}

func (t *tables) loadSessions(ctx context.Context, q querier, namespace []byte, n *need, f *found) error {
	const text = `SELECT session, alive FROM {node} WHERE namespace = ? AND session IN `
	lock, sessions := t.forUpdate, n.sessions.sorted()
	if n.skipsSessions {
		lock = t.skipLocked
	}
	err := t.lockIn(ctx, q, text, namespace, sessions, ` ORDER BY session`+lock, func(rows *sql.Rows) error {
		var session string
		var alive int64
		err := rows.Scan(&session, &alive)
		f.state.Alive[session], f.alive[session] = fromMicros(alive), fromMicros(alive)
		return err
	})
	if err != nil || !n.skipsSessions {
		return err
	}
	left := slices.DeleteFunc(sessions, func(session string) bool { _, found := f.alive[session]; return found })
	return t.locked(ctx, q, `SELECT session FROM {node} WHERE namespace = ? AND session IN `, namespace, left, &n.lockedSessions)
}

// clock reads the server's clock. In SQLite that is the machine's, which all processes that use the file share.
func (t *tables) clock(ctx context.Context, q querier) (now time.Time, err error) {
	if t.Dialect == sqldialect.SQLite {
		return fromMicros(time.Now().UnixMicro()), nil
	}
	err = t.query(ctx, q, `SELECT {now}`, nil, func(rows *sql.Rows) error {
		var n int64
		err := rows.Scan(&n)
		now = fromMicros(n)
		return err
	})
	return now, err
}

// runsSQL reads runs and the notices for them. A row whose kind is 0 has the clock alone.
const (
	clockRow, runRow, noticeRow = 0, 1, 2

	runsSQL = `SELECT 1 AS kind, id, owner, body, completed FROM {run} WHERE namespace = ? AND id %[1]s
UNION ALL SELECT 2, run, owner, body, 0 FROM {notice} WHERE namespace = ? AND run %[1]s`
)

// loadRuns reads the clock, and then runs and their notices: all that is not locked by itself, in one round trip.
func (t *tables) loadRuns(ctx context.Context, q querier, namespace []byte, n *need, f *found) (err error) {
	ids := n.runs.sorted()
	if len(ids) == 0 || t.Dialect == sqldialect.SQLite {
		if f.now, err = t.clock(ctx, q); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(ids, mostRows) {
		text, args := t.runs(namespace, chunk, f.now.IsZero())
		if err := t.query(ctx, q, text, args, f.scanRun); err != nil {
			return err
		}
	}
	return nil
}

// runs is a statement that reads some runs and their notices, and the server's clock.
func (t *tables) runs(namespace []byte, ids []string, clock bool) (text string, args []any) {
	if t.Dialect == sqldialect.Postgres {
		text = t.perKey(fmt.Sprintf(runsSQL, "= wanted.it"))
		args = []any{sqldialect.Array(sqldialect.Hex(ids)), namespace, namespace}
	} else {
		list := padded(ids)
		text, args = fmt.Sprintf(runsSQL, "IN "+placeholders(len(list))), withKeys(namespace, list)
		args = append(args, args...)
	}
	if clock {
		text = `SELECT 0 AS kind, '' AS id, '' AS owner, '' AS body, {now} AS completed UNION ALL ` + text
	}
	return text, args
}

func (f *found) scanRun(rows *sql.Rows) error {
	var kind int
	var id, owner, body string
	var n int64
	if err := rows.Scan(&kind, &id, &owner, &body, &n); err != nil {
		return err
	}
	switch kind {
	case clockRow:
		f.now = fromMicros(n)
	case noticeRow:
		notice, err := read[jobs.Notice]("the notice for run "+id, body)
		f.state.Notices[id], f.notices[id] = ledger.Notice{Notice: notice, Owner: owner}, true
		return err
	case runRow:
		return f.addRun(id, owner, body, n)
	}
	return nil
}

func (f *found) addRun(id, owner, body string, completed int64) error {
	p, err := readRun(id, owner, body, completed)
	f.state.InFlight[id], f.runs[id], f.owners[id], f.done[id] = p, body, owner, p.Completed
	return err
}

// loadRunsOf reads all runs of jobs.
func (t *tables) loadRunsOf(ctx context.Context, q querier, namespace []byte, n *need, f *found) error {
	const text = `SELECT id, owner, body, completed FROM {run} WHERE namespace = ? AND job IN `
	return t.selectIn(ctx, q, text, namespace, n.runsOf.sorted(), ``, func(rows *sql.Rows) error {
		var id, owner, body string
		var completed int64
		if err := rows.Scan(&id, &owner, &body, &completed); err != nil {
			return err
		}
		return f.addRun(id, owner, body, completed)
	})
}

// loadRecords reads the newest records of jobs, which are one after another. Jobs that are left out have none.
func (t *tables) loadRecords(ctx context.Context, q querier, namespace []byte, n *need, f *found) error {
	text := fmt.Sprintf(`SELECT r.job, r.seq, r.at, r.body
FROM {record} r JOIN {job} j ON j.namespace = r.namespace AND j.name = r.job
WHERE r.namespace = ? AND r.seq > j.newest - %d AND r.job IN `, ledger.JoinDepth)
	names := slices.DeleteFunc(n.records.sorted(), func(name string) bool { return n.locked[name] })
	return t.selectIn(ctx, q, text, namespace, names, ` ORDER BY r.job, r.seq`, func(rows *sql.Rows) error {
		var job string
		var r recordRow
		if err := rows.Scan(&job, &r.seq, &r.at, &r.body); err != nil {
			return err
		}
		run, err := read[jobs.Run]("a record of job "+job, r.body)
		r.id = run.ID
		j := f.state.Jobs[job]
		j.Runs, j.Kept = append(j.Runs, run), max(j.Kept, r.seq) // which is more if the row of the job is an older one
		f.records[job] = append(f.records[job], r)
		return err
	})
}
