package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/sqldialect"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// A guarded transaction keeps a lock past the end of its lease. This file is how people are told that. It looks at the row's
// xmax, which names the transaction that has it locked, and at whether that one is open. It locks nothing itself: whoever
// looks would be in the way of those who take locks.

const (
	// keptSQL finds the row of a lease that is over, and which an open transaction has locked alone.
	keptSQL = `SELECT a.xmax::text FROM {lock} AS a WHERE a.name = :name AND a.owner <> '' AND a.until <= {now}
  AND EXISTS (SELECT 1 FROM pg_locks AS l WHERE l.locktype = 'transactionid' AND l.transactionid = a.xmax AND l.granted)`
	// keptTogetherSQL is keptSQL for a row that several transactions may have locked together. A group that has been formed
	// has an age.
	keptTogetherSQL = `SELECT a.xmax::text FROM {lock} AS a WHERE a.name = :name AND a.owner <> '' AND a.until <= {now}
  AND EXISTS (SELECT 1
  FROM pg_get_multixact_members(CASE WHEN mxid_age(a.xmax) BETWEEN 1 AND 1000000000 THEN a.xmax END) AS m
  JOIN pg_locks AS l ON l.locktype = 'transactionid' AND l.transactionid = m.xid AND l.granted)`
)

// certainTime is for how long a row is locked at the least that a guard keeps, and not a step of somebody else.
const certainTime = 100 * time.Millisecond

// isKept reports whether the lease of a row is over, and an open transaction keeps it locked.
func (s *session) isKept(ctx context.Context, t *tables, r row, now int64) bool {
	if t.Dialect != sqldialect.Postgres || r.owner == "" || r.taken(now) {
		return false
	}
	by := s.lockedBy(ctx, t, &r)
	return by != "" && pace.Sleep(ctx, certainTime) && s.lockedBy(ctx, t, &r) == by
}

// lockedBy says which transaction, or which group of them, has a row locked: "" if none has, or it cannot be found out.
func (s *session) lockedBy(ctx context.Context, t *tables, r *row) string {
	ask := func(text string) (by string) {
		err := t.query(ctx, s.store.pool, text, args{"name": r.name}, func(result *sql.Rows) error { return result.Scan(&by) })
		if err != nil {
			return ""
		}
		return by
	}
	return cmp.Or(ask(keptSQL), ask(keptTogetherSQL))
}

// keptBy is the error for who looks for the holder of such a lock, or would break its lease.
func (s *session) keptBy(t *tables, r row) error {
	err := fmt.Errorf("%w: the lease of %s is over, and a transaction keeps its row locked until it ends",
		lockrt.ErrNotHeld, r.holderNode(r.end()-1))
	return guardedBy(err, s.guards(t, guardsTime-askSilence))
}

// end is when the last lease is over, or was.
func (r *row) end() int64 {
	if !r.shared() {
		return r.until
	}
	last := int64(0)
	for _, h := range r.holders {
		last = max(last, h.until)
	}
	return last
}
