package lockcheck

import (
	"golang.org/x/tools/go/ssa"
)

// ownerCompared returns the GET whose value decides, compared with something, whether a DEL or EXPIRE runs; nil if
// there is none.
func (ix *lockSet) ownerCompared(c *command) *command {
	for _, read := range ix.commands[c.fn] {
		if read.op == opRead && read.key.String() == c.key.String() && comparedBefore(read, c.call) {
			return read
		}
	}
	return nil
}

// comparedBefore reports whether a call runs only after a comparison with what was read.
func comparedBefore(read *command, call ssa.CallInstruction) bool {
	for at := ssa.Instruction(call); at != nil; at = userOf(at.Parent()) {
		for b := at.Block(); b != nil; b = b.Idom() {
			d := b.Idom()
			if d == nil {
				break
			}
			if cond, ok := d.Instrs[len(d.Instrs)-1].(*ssa.If); ok && comparesValue(cond.Cond, read, 0) {
				return true
			}
		}
	}
	return false
}

// userOf is the one call that a function literal is handed to, or that runs it; nil if there are several.
func userOf(lit *ssa.Function) ssa.Instruction {
	if lit.Parent() == nil {
		return nil
	}
	var found ssa.Instruction
	for _, b := range lit.Parent().Blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(ssa.CallInstruction)
			if !ok || !takesLiteral(call.Common(), lit) {
				continue
			}
			if found != nil {
				return nil
			}
			found = call
		}
	}
	return found
}

// takesLiteral reports whether a call runs a function literal or takes it as an argument.
func takesLiteral(call *ssa.CallCommon, lit *ssa.Function) bool {
	for _, v := range append([]ssa.Value{call.Value}, call.Args...) {
		if ct, ok := v.(*ssa.ChangeType); ok {
			v = ct.X
		}
		if mc, ok := v.(*ssa.MakeClosure); ok {
			v = mc.Fn
		}
		if v == ssa.Value(lit) {
			return true
		}
	}
	return false
}

// comparesValue reports whether a condition compares what was read with something else, rather than asking whether
// there was anything to read.
func comparesValue(v ssa.Value, read *command, depth int) bool {
	if depth > maxKeyDepth {
		return false
	}
	switch v := v.(type) {
	case *ssa.UnOp:
		return comparesValue(v.X, read, depth+1)
	case *ssa.Phi:
		for _, e := range v.Edges {
			if comparesValue(e, read, depth+1) {
				return true
			}
		}
	case *ssa.BinOp:
		if isError(v.X.Type()) || isNilConst(v.X) || isNilConst(v.Y) || isEmpty(v.X) || isEmpty(v.Y) {
			return false
		}
		return dependsOn(v.X, read, 0) || dependsOn(v.Y, read, 0)
	case *ssa.Call:
		for _, a := range v.Call.Args {
			if isError(a.Type()) {
				return false
			}
		}
		return len(v.Call.Args) > 1 && dependsOn(v, read, 0)
	}
	return false
}

// isEmpty reports whether a value is the empty string or zero.
func isEmpty(v ssa.Value) bool {
	c, ok := constOf(v)
	return ok && (c.ExactString() == `""` || c.ExactString() == "0")
}
