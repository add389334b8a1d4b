package summaries

import (
	"slices"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// leases reports whether the function that issues an acquire returns what releases it.
func leases(c *rediscmd.Command, cmds []*rediscmd.Command) bool {
	return c.Op == ops.Acquire && slices.ContainsFunc(cmds, func(other *rediscmd.Command) bool {
		return other.Op.Releases() && other.Key.String() == c.Key.String() && ssax.IsReturned(other.Call.Parent())
	})
}

// handsOn reports whether what releases an acquire, which its function returns, does so with the context that it is given.
func handsOn(c *rediscmd.Command, cmds []*rediscmd.Command) bool {
	return c.Op == ops.Acquire && slices.ContainsFunc(cmds, func(other *rediscmd.Command) bool {
		return other.Op.Releases() && other.Key.String() == c.Key.String() && ssax.IsReturned(other.Call.Parent()) &&
			passesContext(other.Call.Parent(), other)
	})
}
