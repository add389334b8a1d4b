package refusals

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// workOf is the call of a set that is shown to people as what runs without the lock: the first that is work, and if there
// is a choice none that is only asked for a branch. Nil if none of them is work.
func workOf(r *check.Reporter, set map[ssa.Instruction]bool) ssa.CallInstruction {
	work := slices.DeleteFunc(sections.WorkIn(set), func(call ssa.CallInstruction) bool { return servesLock(r, call) })
	if i := slices.IndexFunc(work, func(call ssa.CallInstruction) bool { return !onlyAsked(call) }); i >= 0 {
		return work[i]
	}
	if len(work) > 0 {
		return work[0]
	}
	return nil
}

// servesLock reports whether a call makes a context, or what only the calls of locks are given, such as their keys.
func servesLock(r *check.Reporter, call ssa.CallInstruction) bool {
	v, ok := call.(*ssa.Call)
	if !ok {
		return false
	}
	if ssax.IsContext(v.Type()) {
		return true
	}
	given := false
	for _, use := range *v.Referrers() {
		switch use := use.(type) {
		case *ssa.DebugRef:
		case ssa.CallInstruction:
			if !r.Index.Leases.Handles(use.Common()) {
				return false
			}
			given = true
		default:
			return false
		}
	}
	return given
}

// onlyAsked reports whether nothing but a branch depends on what a call returns, as on a question for a state.
func onlyAsked(call ssa.CallInstruction) bool {
	v, ok := call.(*ssa.Call)
	return ok && ssax.IsBool(v.Type()) && onlyBranches(v)
}

func onlyBranches(v ssa.Value) bool {
	branches := false
	for _, use := range *v.Referrers() {
		switch use := use.(type) {
		case *ssa.DebugRef:
		case *ssa.If:
			branches = true
		case *ssa.UnOp:
			if !onlyBranches(use) {
				return false
			}
			branches = true
		default:
			return false
		}
	}
	return branches
}
