package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/sqldialect"
)

// A guarded transaction keeps a lock past the end of its lease. This file is how others see that. They look at the row's
// xmax, which names the transaction that has it locked, and at whether that one is open. They lock nothing themselves:
// whoever looks would be in the way of those who take locks.

const (
	// listKeptSQL is listSQL with the rows of leases that are over, and that a transaction has locked at some time.
	listKeptSQL = `SELECT ` + columns + `, {now} FROM {lock} WHERE name >= :from AND name < :below
  AND (until > {now} OR owner <> '' AND xmax <> 0)
ORDER BY name LIMIT :limit`
	// keptSQL finds those of leases that are over, and whose rows an open transaction has locked alone.
	keptSQL = `SELECT a.name, a.xmax::text FROM {lock} AS a WHERE a.name IN (:names) AND a.owner <> '' AND a.until <= {now}
  AND EXISTS (SELECT 1 FROM pg_locks AS l WHERE l.locktype = 'transactionid' AND l.transactionid = a.xmax AND l.granted)`
	// keptTogetherSQL is keptSQL for rows that several transactions may have locked together. It fails for others.
	keptTogetherSQL = `SELECT a.name, a.xmax::text FROM {lock} AS a WHERE a.name IN (:names) AND a.owner <> '' AND a.until <= {now}
  AND EXISTS (SELECT 1 FROM pg_get_multixact_members(a.xmax) AS m
  JOIN pg_locks AS l ON l.locktype = 'transactionid' AND l.transactionid = m.xid AND l.granted)`
)

// certainTime is for how long a row is locked at the least that a guard keeps, and not a step of somebody else.
const certainTime = 100 * time.Millisecond

// mostTogether is for how many rows of a page that readers shared it is asked whether several transactions keep them.
const mostTogether = 20

// kept returns those of some rows, whose leases are over, that open transactions keep locked.
func (s *session) kept(ctx context.Context, t *tables, over []row) (names map[string]bool) {
	first := s.lockedBy(ctx, t, over)
	if len(first) == 0 || !pace.Sleep(ctx, certainTime) {
		return nil
	}
	second := s.lockedBy(ctx, t, over)
	names = make(map[string]bool)
	for name, by := range first {
		if second[name] == by {
			names[name] = true
		}
	}
	return names
}

// lockedBy says by which transaction rows are locked, and says nothing of others. What it cannot find out it leaves out.
func (s *session) lockedBy(ctx context.Context, t *tables, rows []row) (by map[string]string) {
	if t.Dialect != sqldialect.Postgres || len(rows) == 0 {
		return nil
	}
	ask := func(text string, names ...[]byte) map[string]string {
		found := make(map[string]string)
		err := t.query(ctx, s.store.pool, text, args{"names": padded(names)}, func(result *sql.Rows) error {
			var name []byte
			var xmax string
			err := result.Scan(&name, &xmax)
			found[string(name)] = xmax
			return err
		})
		if err != nil {
			return nil
		}
		return found
	}
	names := make([][]byte, len(rows))
	for i, r := range rows {
		names[i] = r.name
	}
	if by = ask(keptSQL, names...); by == nil {
		return nil
	}
	asked := 0
	for _, r := range rows {
		if by[string(r.name)] == "" && r.shared() && asked < mostTogether {
			maps.Copy(by, ask(keptTogetherSQL, r.name))
			asked++
		}
	}
	return by
}

// isKept reports whether the lease of a row is over, and an open transaction keeps it locked.
func (s *session) isKept(ctx context.Context, t *tables, r row, now int64) bool {
	return r.owner != "" && !r.taken(now) && s.kept(ctx, t, []row{r})[string(r.name)]
}

// errKept is that of a Break of a lock that only a transaction keeps.
var errKept = errors.New("the lease is over, and a transaction keeps its row locked until it ends")

func (s *session) keptBy(t *tables, r row) error {
	return guardedBy(fmt.Errorf("held by %s: %w", r.holderNode(r.end()-1), errKept), s.guards(t, guardsTime-askSilence))
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
