package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/sqldialect"
)

// A guarded transaction keeps a lock past the end of its lease. This file is how others see that.

// guardedSQL finds the rows of leases that are over, and that somebody keeps locked.
const guardedSQL = `SELECT ` + columns + `, {now} FROM {lock} AS a
LEFT JOIN LATERAL (SELECT 1 AS free FROM {lock} AS k WHERE k.name = a.name FOR UPDATE OF k SKIP LOCKED) AS f ON true
WHERE a.name >= :from AND a.name < :below AND a.owner <> '' AND a.until <= {now} AND f.free IS NULL
ORDER BY a.name LIMIT :limit`

// certainTime is for how long a row is locked at the least that a guard keeps, and not a step of somebody else.
const certainTime = 10 * time.Millisecond

// guardedRows returns the rows of a range whose leases are over and whose holders are in guarded transactions, each with a
// moment in which its lease was the last. Whoever may not lock rows finds none.
func (s *session) guardedRows(ctx context.Context, t *tables, from, below []byte, limit int) []guardedRow {
	if t.Dialect != sqldialect.Postgres {
		return nil
	}
	found := s.lockedRows(ctx, t, from, below, limit)
	if len(found) == 0 || !pace.Sleep(ctx, certainTime) {
		return nil
	}
	still := s.lockedRows(ctx, t, from, below, limit)
	return slices.DeleteFunc(found, func(g guardedRow) bool {
		return !slices.ContainsFunc(still, func(other guardedRow) bool {
			return string(other.name) == string(g.name) && other.epoch == g.epoch
		})
	})
}

type guardedRow struct {
	row
	last int64 // just before the end of its lease
}

func (s *session) lockedRows(ctx context.Context, t *tables, from, below []byte, limit int) (found []guardedRow) {
	bounds := args{"from": from, "below": below, "limit": limit}
	err := t.query(ctx, s.store.pool, guardedSQL, bounds, func(rows *sql.Rows) error {
		r, now, err := scanRow(rows)
		if err == nil && !r.taken(now) {
			found = append(found, guardedRow{r, r.end() - 1})
		}
		return err
	})
	if err != nil {
		return nil
	}
	return found
}

// guardedNow returns the row of one lock, if its lease is over and its holder in a guarded transaction.
func (s *session) guardedNow(ctx context.Context, t *tables, name []byte) (guardedRow, bool) {
	found := s.guardedRows(ctx, t, name, append(slices.Clone(name), 0), 1)
	if len(found) == 0 {
		return guardedRow{}, false
	}
	return found[0], true
}

// errKept is that of a Break of a lock that only a guarded transaction keeps.
var errKept = errors.New("its lease is over, and its transaction keeps the lock until it ends")

func (s *session) keptBy(t *tables, r guardedRow) error {
	return guardedBy(fmt.Errorf("held by %s: %w", r.holderNode(r.last), errKept), s.guards(t, guardsTime-askSilence))
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
