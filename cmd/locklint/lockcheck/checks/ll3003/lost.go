package ll3003

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
)

// foundLost tells by a step from one block to the next that a lock by hand, which has been acquired, is not there any more:
// it could not be prolonged, or somebody else owns it.
func foundLost(r *check.Reporter, a *rediscmd.Command) func(from, to *ssa.BasicBlock) bool {
	var asked []*rediscmd.Command
	for _, c := range r.Index.Commands[a.Fn] {
		if c.Key.String() == a.Key.String() && c.Call.Parent() == a.Call.Parent() && c.Pipe == rediscmd.Direct {
			asked = append(asked, c)
		}
	}
	return func(from, to *ssa.BasicBlock) bool {
		branch, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
		return ok && slices.ContainsFunc(asked, func(c *rediscmd.Command) bool { return saysLost(branch, c, to) })
	}
}

// saysLost reports whether a branch goes on to a block where a command has found the lock gone.
func saysLost(branch *ssa.If, c *rediscmd.Command, to *ssa.BasicBlock) bool {
	succs := branch.Block().Succs
	switch c.Op {
	case ops.Expire, ops.CompareExpire:
		held, ok := answers.SuccessBranch(branch.Cond, c)
		return ok && succs[1-held] == to
	case ops.Read:
		own, ok := answers.OwnBranch(branch.Cond, c)
		return ok && succs[1-own] == to
	}
	return false
}
