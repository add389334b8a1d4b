package sqlstore

import (
	"context"
	"slices"

	"github.com/lockgen/lockgen/internal/combine"
)

const (
	// combineAlone is how many statements a combiner has under way, each for one lease, before it begins to gather
	// them.
	combineAlone = 4
	// combineLanes is how many gathered statements are under way at a time.
	combineLanes = 2
	// combineBatch is how many leases one statement works on at the most.
	combineBatch = 128
)

// item is one lease's part in a statement.
type item struct {
	combine.Ticket
	id, key string
	name    []byte
	ttl     int64
	latest  int64 // until when it may act, on the server's clock; of the batch, once that is made

	answer
	ok  bool // it was done; otherwise it is to be asked for alone
	err error
}

// combining prepares a combiner: few callers pay nothing for it, and many share a round trip, a commit and its flush.
func (s *session) combining(c *combine.Combiner[*item], run func(context.Context, []*item)) {
	c.Alone, c.Lanes, c.Most, c.Time, c.Start = combineAlone, combineLanes, combineBatch, callTime, s.calls.Start
	c.Send = func(ctx context.Context, batch []*item) bool {
		run(ctx, distinct(batch))
		return true
	}
	c.Taken = func(batch []*item) {
		latest := s.latest()
		for _, e := range batch {
			e.latest = latest
		}
	}
}

// distinct leaves out who comes second for a lock: a statement would meet its own change. That one has to ask alone.
func distinct(batch []*item) []*item {
	if len(batch) == 1 {
		return batch
	}
	names := make(map[string]bool, len(batch))
	return slices.DeleteFunc(slices.Clone(batch), func(e *item) bool {
		second := names[string(e.name)]
		names[string(e.name)] = true
		return second
	})
}
