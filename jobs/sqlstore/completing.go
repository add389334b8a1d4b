package sqlstore

import (
	"context"
	"reflect"
	"sync"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/life"
)

// completing knows in which transaction each run of this process was completed last: a second call in that one counts
// again, one in another does not.
type completing struct {
	mu sync.Mutex
	by map[jobs.RunID]Tx
}

// within reports whether a run was completed in this transaction before.
func (c *completing) within(run jobs.RunID, tx Tx) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.by[run]
	return last != nil && tellsApart(tx) && last == tx
}

// tellsApart reports whether equal values are the same transaction. What wraps one may look as if it could be compared,
// and not be so for what is in it. A connection, a *sql.Conn or what has its methods, has one transaction after another.
func tellsApart(tx Tx) bool {
	_, connection := tx.(interface{ Raw(func(any) error) error })
	return !connection && reflect.ValueOf(tx).Comparable()
}

// note remembers that a run was completed in a transaction, until the run ends.
func (c *completing) note(ctx context.Context, run jobs.RunID, tx Tx) {
	if !tellsApart(tx) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = make(map[jobs.RunID]Tx)
	}
	c.by[run] = tx
	context.AfterFunc(life.Of(ctx), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.by[run] == tx {
			delete(c.by, run)
		}
	})
}
