package lockcheck

import (
	"strings"

	"golang.org/x/tools/go/ssa"
)

// assigned reports whether a function other than the initialiser may change a package variable.
func (ix *program) assigned(g *ssa.Global) bool {
	for _, fn := range ix.funcs {
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

// optionOf is literalField for options that may also stand in a package variable which is never assigned again.
func (ix *program) optionOf(v ssa.Value, name string) (set ssa.Value, known bool) {
	if load, ok := v.(*ssa.UnOp); ok {
		if g, ok := load.X.(*ssa.Global); ok && g.Pkg == ix.pkg && !ix.assigned(g) {
			v = globalInit(g)
		}
	}
	return literalField(v, name)
}

// lastElem is a type's or function's name without the path of its package.
func lastElem(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
