package ll3001

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// nobodyTold reports whether a literal is put into a variable, and whoever calls that has nobody to tell: it does so in a
// deferred literal, or on the way out after a failure.
func nobodyTold(lit *ssa.Function) bool {
	cell := variableOf(lit)
	if cell == nil {
		return false
	}
	calls := 0
	known := ssax.EachCellUse(cell, func(instr ssa.Instruction, addr ssa.Value) bool {
		switch instr := instr.(type) {
		case *ssa.Store:
			return instr.Addr == addr
		case *ssa.UnOp:
			for _, use := range *instr.Referrers() {
				call, ok := use.(ssa.CallInstruction)
				if !ok || call.Common().Value != ssa.Value(instr) || !endsAll(call) {
					return false
				}
				calls++
			}
			return true
		case *ssa.DebugRef:
			return true
		}
		return false
	})
	return known && calls > 0
}

// endsAll reports whether a call is deferred, or runs on the way out after a failure.
func endsAll(call ssa.CallInstruction) bool {
	return ssax.IsDeferred(call) || ssax.IsDeferredLiteral(call.Parent()) || ssax.LeavesOnFailure(call) || ssax.MakesError(call)
}

// variableOf is the variable that a literal is put into, and nothing else is done with it. Nil if there is none.
func variableOf(lit *ssa.Function) *ssa.Alloc {
	for _, use := range *lit.Referrers() {
		mc, ok := use.(*ssa.MakeClosure)
		if !ok || len(*mc.Referrers()) != 1 {
			continue
		}
		if st, ok := (*mc.Referrers())[0].(*ssa.Store); ok {
			cell, _ := st.Addr.(*ssa.Alloc)
			return cell
		}
	}
	return nil
}
