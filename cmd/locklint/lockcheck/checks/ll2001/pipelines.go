package ll2001

import (
	"slices"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/locks"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// ignoredInPipe reports whether a function queues an acquire, sends it and releases, and never looks at what has come of it.
// Something has to say that it is a lock: in a pipeline, SETNX mostly begins a counter.
func ignoredInPipe(r *check.Reporter, c, release *rediscmd.Command) bool {
	return c.Pipe != rediscmd.Direct && release != nil && release.Fn == c.Fn && ssax.ComesAfter(c.Call, release.Call) &&
		locks.Speaks(c) && answers.SentIn(c) && answers.ReachesNobody(c) &&
		!slices.ContainsFunc(r.Index.Commands[c.Fn], func(other *rediscmd.Command) bool {
			return other.Op == ops.Count && other.Key.String() == c.Key.String()
		})
}
