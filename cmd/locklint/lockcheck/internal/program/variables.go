package program

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Assigned reports whether a function other than the initialiser and tests may change a package variable.
func (ix *Package) Assigned(g *ssa.Global) bool {
	for _, fn := range ix.Shipped {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				if mayAssign(instr, g) {
					return true
				}
			}
		}
	}
	return false
}

// mayAssign reports whether an instruction does anything with a variable but read it.
func mayAssign(instr ssa.Instruction, g *ssa.Global) bool {
	if load, ok := instr.(*ssa.UnOp); ok && load.X == ssa.Value(g) {
		return false
	}
	for _, op := range instr.Operands(nil) {
		if *op == ssa.Value(g) {
			return true
		}
	}
	return false
}

// OptionOf is LiteralField for options that may also stand in a package variable which is never assigned again.
func (ix *Package) OptionOf(v ssa.Value, name string) (set ssa.Value, known bool) {
	if load, ok := v.(*ssa.UnOp); ok {
		if g, ok := load.X.(*ssa.Global); ok && g.Pkg == ix.Pkg && !ix.Assigned(g) {
			v = ssax.GlobalInit(g)
		}
	}
	return ssax.LiteralField(v, name)
}
