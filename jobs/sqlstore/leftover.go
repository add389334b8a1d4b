package sqlstore

import (
	"context"
	"database/sql"

	"github.com/lockgen/lockgen/jobs/internal/ledger"
)

// loadLeft looks for records that are left of jobs whose rows are gone, or older than the records: somebody has deleted
// rows by hand, or has restored a part of the tables. The numbers of records go on behind those.
func (t *tables) loadLeft(ctx context.Context, q querier, namespace []byte, n *need, f *found) error {
	var asked set
	for name := range n.jobs {
		if _, known := f.jobs[name]; !known && !n.locked[name] {
			asked.add(name)
		}
	}
	if n.recount {
		for name := range n.keep {
			asked.add(name)
		}
	}
	const text = `SELECT job, max(seq) FROM {record} WHERE namespace = ? AND job IN `
	const each = ` GROUP BY job`
	return t.selectIn(ctx, q, text, namespace, asked.sorted(), each, func(rows *sql.Rows) error {
		var name string
		var newest int64
		if err := rows.Scan(&name, &newest); err != nil {
			return err
		}
		j := f.state.Jobs[name]
		if j == nil {
			j = new(ledger.Job)
			f.state.Jobs[name], f.left[name] = j, newest
		}
		j.Kept = max(j.Kept, newest)
		return nil
	})
}
