package ssax

import (
	"go/token"
	"time"

	"golang.org/x/tools/go/ssa"
)

// LongMark is how long a key has to last to be taken for a mark that something has been done, where it is deleted on
// nothing but failures: no lock that guards a piece of work is held so long.
const LongMark = time.Hour

// GivesBack reports whether a call runs only where something has failed: behind an error, on the way out with one, or
// in a deferred literal behind a flag that says that all went well.
func GivesBack(call ssa.CallInstruction) bool {
	return !IsDeferred(call) && (UndoesFailure(call) || LeavesWithError(call) || UndoesOnError(call) || unlessDone(call))
}

// unlessDone reports whether a call stands in a deferred literal, behind a flag of the function around it that says no.
func unlessDone(call ssa.CallInstruction) bool {
	lit := call.Parent()
	if lit.Parent() == nil || !IsDeferred(RunnerOf(lit)) {
		return false
	}
	for b := call.Block(); b.Idom() != nil; b = b.Idom() {
		branch, ok := b.Idom().Instrs[len(b.Idom().Instrs)-1].(*ssa.If)
		if !ok || len(b.Preds) != 1 {
			continue
		}
		cond, no := branch.Cond, 1
		if not, ok := cond.(*ssa.UnOp); ok && not.Op == token.NOT {
			cond, no = not.X, 0
		}
		load, ok := cond.(*ssa.UnOp)
		if !ok || load.Op != token.MUL || b.Idom().Succs[no] != b {
			continue
		}
		if _, captured := load.X.(*ssa.FreeVar); captured && IsBool(load.Type()) {
			return true
		}
	}
	return false
}
