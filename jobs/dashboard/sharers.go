package dashboard

import (
	"fmt"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// shownHolders is how many holders of a lock a table names. The page from which it is broken has all.
const shownHolders = 4

// listedHolders is how many holders of a lock a list of the store has at the most.
const listedHolders = 100

// holderRow is one of several that hold a lock together.
type holderRow struct {
	Node, ID       string // ID: the lease, by which it is broken
	Slot           int    // of a permit, from 0; -1 without
	Fence          fence
	Since          moment
	Age, Remaining string
	Kept           bool // by nobody, until its minimum hold time is over
}

func (q *request) holderRows(info lockrt.LockInfo) []holderRow {
	if !shared(info) {
		return nil
	}
	rows := make([]holderRow, len(info.Holders))
	for i, h := range info.Holders {
		rows[i] = holderRow{
			Node: h.Node, ID: h.ID, Slot: h.Slot, Fence: fence(h.Fence), Since: q.moment(h.Since),
			Remaining: duration(h.Remaining), Kept: h.Node == "",
		}
		if !h.Since.IsZero() {
			rows[i].Age = rough(max(0, q.now.Sub(h.Since)))
		}
	}
	return rows
}

// shared tells whether a lock is held to read or by permits.
func shared(info lockrt.LockInfo) bool { return info.Mode == lockrt.Read || info.Limit > 0 }

// sharers says how many hold a lock together, "" for one that is held alone.
func sharers(info lockrt.LockInfo) string {
	switch n := len(info.Holders); {
	case info.Limit > 0:
		return fmt.Sprintf("%d of %s", n, plural(info.Limit, "permit"))
	case info.Mode == lockrt.Read:
		return plural(n, "reader")
	}
	return ""
}

// holderOf is a lease that holds a lock.
func holderOf(info lockrt.LockInfo, lease string) (lockrt.Holder, bool) {
	for _, h := range info.Holders {
		if h.ID == lease && lease != "" {
			return h, true
		}
	}
	return lockrt.Holder{}, false
}

// waiterText is who waits, and for what if not to hold the lock alone.
func waiterText(w lockrt.Waiter) string {
	switch {
	case w.Permits > 0:
		return w.Node + " (a permit)"
	case w.Mode == lockrt.Read:
		return w.Node + " (to read)"
	}
	return w.Node
}

// keysOf are the keys of a job's locks.
func keysOf(j *jobs.Job) []string {
	keys := j.Keys
	for _, k := range j.Each {
		keys = append(keys[:len(keys):len(keys)], k.Key)
	}
	return keys
}
