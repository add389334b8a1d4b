package ll3003

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
)

// ruledOut reports whether a block that runs with the lock cannot go on to its i-th successor because of what was asked
// before the acquire: a counter that has not come to its end then is not at its end behind the loop.
func ruledOut(b *ssa.BasicBlock, i int, acquire *ssa.BasicBlock) bool {
	branch, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	if !ok || !isOfCounter(branch.Cond) {
		return false
	}
	for at := acquire; at.Idom() != nil; at = at.Idom() {
		before, ok := at.Idom().Instrs[len(at.Idom().Instrs)-1].(*ssa.If)
		if !ok || len(at.Preds) != 1 || before.Block().Succs[0] == before.Block().Succs[1] {
			continue
		}
		if leases.Excludes(before.Cond, before.Block().Succs[0] == at, branch.Cond, i == 0) {
			return true
		}
	}
	return false
}

// isOfCounter reports whether a condition compares a variable that only another round of its loop changes.
func isOfCounter(cond ssa.Value) bool {
	b, ok := cond.(*ssa.BinOp)
	if !ok {
		return false
	}
	_, ok = b.X.(*ssa.Phi)
	return ok
}
