package dashboard

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

type lockListData struct {
	Prefix      string
	Locks       []lockRow
	First, Next string // addresses of other pages; empty: there is none
}

type lockRow struct {
	Key, Holder, ID string
	Fence           fence
	Since           moment
	Age, Remaining  string
	Waiters         []string // nodes, in the order in which they get it
	Sharers         string   // how many hold it together; empty: one holds it alone
	Holders         []holderRow
	MoreHolders     int     // than Holders, at least
	Truncated       bool    // the list does not name all who hold it
	Job             jobLink // that has the key
	Free            bool
	Kept            bool // by nobody, until its minimum hold time is over
	Unknown         bool // it could not be asked
}

// fence is a fencing token. Most of its digits say when it was given, so tables show the last ones.
type fence uint64

// Short is the part of a fence by which those of one lock are told apart at a glance.
func (f fence) Short() string {
	const digits = 6
	s := strconv.FormatUint(uint64(f), 10)
	if len(s) <= digits+2 {
		return s
	}
	return "…" + s[len(s)-digits:]
}

func (q *request) lockRow(info lockrt.LockInfo) lockRow {
	row := lockRow{
		Key: info.Key, Holder: holderName(info), ID: info.ID, Fence: fence(info.Fence), Since: q.moment(info.Since),
		Remaining: duration(info.Remaining), Kept: info.Node == "" && !shared(info),
	}
	if !info.Since.IsZero() {
		row.Age = rough(max(0, q.now.Sub(info.Since)))
	}
	for _, w := range info.Waiters {
		row.Waiters = append(row.Waiters, waiterText(w))
	}
	row.Sharers, row.Holders = sharers(info), q.holderRows(info)
	if row.Truncated = len(row.Holders) >= listedHolders; row.Truncated {
		row.Sharers = "at least " + row.Sharers
	}
	if row.MoreHolders = len(row.Holders) - shownHolders; row.MoreHolders > 0 {
		row.Holders = row.Holders[:shownHolders]
	}
	return row
}

func holderName(info lockrt.LockInfo) string {
	switch {
	case shared(info):
		return sharers(info)
	case info.Node == "":
		return "kept by its minimum hold time"
	}
	return info.Node
}

// lockPage is what the store says of one page of the locks.
type lockPage struct {
	locks []lockrt.LockInfo
	next  string // cursor
}

func (q *request) lockList() (*view, error) {
	prefix, cursor := q.r.URL.Query().Get("q"), q.r.URL.Query().Get("from")
	page, err := askOf(q, &q.d.held, "the held locks", strings.Join([]string{"locks", prefix, cursor}, "\x00"),
		func(ctx context.Context) (p lockPage, err error) {
			p.locks, p.next, err = q.d.locks.ListPage(ctx, prefix, cursor, pageRows)
			return p, err
		})
	if err != nil {
		return nil, q.missingOr(err, "this page of the locks")
	}
	data := lockListData{Prefix: prefix}
	if cursor != "" {
		data.First = q.with("from", "")
	}
	if page.next != "" {
		data.Next = q.with("from", page.next)
	}
	jobOf := q.jobsByKey(page.locks)
	for _, info := range page.locks {
		row := q.lockRow(info)
		row.Job = q.link(jobOf[info.Key])
		data.Locks = append(data.Locks, row)
	}
	return &view{template: "locks", Title: "Locks", Menu: "locks", Live: true, Data: data}, nil
}

// askedForLocks is how many jobs that run are looked at to find whose locks are held.
const askedForLocks = 200

// jobsByKey are the jobs that locks are held for, by key: those that run, and those that are called like the lock.
func (q *request) jobsByKey(locks []lockrt.LockInfo) map[string]string {
	keys := make([]string, len(locks))
	for i, l := range locks {
		keys[i] = l.Key
	}
	a := q.aside(&q.d.known, "the jobs of the locks", "jobs of\x00"+strings.Join(keys, "\x00"), func(ctx context.Context) (any, error) {
		running, err := q.d.jobs.RunningRuns(ctx)
		if err != nil && !isPartial(err) {
			return nil, err
		}
		asked := map[string]bool{}
		for _, r := range running[:min(len(running), askedForLocks)] {
			asked[r.Job] = true
		}
		for _, key := range keys {
			if job, ok := strings.CutPrefix(key, "job:"); ok { // as Job.Keys defaults to
				asked[job] = true
			}
		}
		if len(asked) == 0 {
			return nil, nil
		}
		return q.d.jobs.ClusterJobs(ctx, slices.Sorted(maps.Keys(asked))...)
	})
	infos, _ := a.value.([]jobs.Info)
	jobOf := map[string]string{}
	for _, info := range infos {
		for _, key := range keysOf(&info.Job) {
			jobOf[key] = info.Job.Name
		}
	}
	return jobOf
}

// holders tells who holds locks, which need not be a run. If they could not be asked about the answer is empty, and the page
// says so; on a page that shows what was known it is as it was known.
func (q *request) holders(keys []string) map[string]lockrt.LockInfo {
	if len(keys) == 0 {
		return nil
	}
	a := q.aside(&q.d.held, "the holders of locks", "holders\x00"+strings.Join(keys, "\x00"), func(ctx context.Context) (any, error) {
		return q.d.fetchHolders(ctx, keys)
	})
	switch {
	case a.failed == nil || q.silence != nil || a.value != nil:
	case a.slow:
		q.unheld = lateProblem("the holders of locks")
		q.unheld.Title, q.unheld.Text = "Who holds the locks is not known yet", "The store of the locks is slow."
	default:
		since := q.present().moment(a.since)
		q.unheld = q.storeProblem("the holders of locks", a.failed)
		q.unheld.Status, q.unheld.Title = 0, "Who holds the locks is unknown since "+since.Stamp+" UTC, "+since.Away
	}
	held, _ := a.value.(map[string]lockrt.LockInfo)
	return held
}
