package ssax

import (
	"golang.org/x/tools/go/ssa"
)

// RunnerOf is the one instruction that calls, starts or defers a function literal, nil if it is not that simple.
func RunnerOf(lit *ssa.Function) ssa.Instruction {
	if runs := runsOf(lit); len(runs) == 1 {
		return runs[0]
	}
	return nil
}

// runsOf are the instructions around a function literal that call, start or defer it. To look for them among its uses
// keeps functions with hundreds of literals cheap.
func runsOf(lit *ssa.Function) (runs []ssa.CallInstruction) {
	collect := func(v ssa.Value) {
		for _, instr := range *v.Referrers() {
			if call, ok := instr.(ssa.CallInstruction); ok && call.Common().Value == v {
				runs = append(runs, call)
			}
		}
	}
	collect(lit)
	for _, instr := range *lit.Referrers() {
		if mc, ok := instr.(*ssa.MakeClosure); ok && mc.Fn == ssa.Value(lit) {
			collect(mc)
		}
	}
	return runs
}

// IsDeferred reports whether an instruction is a defer statement.
func IsDeferred(instr ssa.Instruction) bool {
	_, ok := instr.(*ssa.Defer)
	return ok
}

// Outermost returns the declared function around a function literal.
func Outermost(fn *ssa.Function) *ssa.Function {
	for fn.Parent() != nil {
		fn = fn.Parent()
	}
	return fn
}

// MaxDepth bounds literals that call literals.
const MaxDepth = 4

// Literal returns the function literal that is called on the spot.
func Literal(c *ssa.CallCommon) *ssa.Function {
	if fn := c.StaticCallee(); fn != nil && fn.Parent() != nil && len(fn.Blocks) > 0 {
		return fn
	}
	return nil
}

// Within reports whether a function is another or a literal in it.
func Within(fn, outer *ssa.Function) bool {
	for ; fn != nil; fn = fn.Parent() {
		if fn == outer {
			return true
		}
	}
	return false
}

// IsMain reports whether a function is main or init of a program.
func IsMain(fn *ssa.Function) bool {
	fn = Outermost(fn)
	return fn.Pkg != nil && fn.Pkg.Pkg.Name() == "main" && fn.Signature.Recv() == nil &&
		(fn.Name() == "main" || fn.Name() == "init")
}

// LiteralOf is the function that a value is, nil if nobody knows.
func LiteralOf(v ssa.Value) *ssa.Function {
	switch v := v.(type) {
	case *ssa.MakeClosure:
		fn, _ := v.Fn.(*ssa.Function)
		return fn
	case *ssa.ChangeType:
		return LiteralOf(v.X)
	case *ssa.Function:
		return v
	}
	return nil
}

// IsReturned reports whether a literal is nothing but a result of the function around it, for the caller to run.
func IsReturned(lit *ssa.Function) bool {
	if lit.Parent() == nil {
		return false
	}
	returned := false
	for _, b := range lit.Parent().Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok {
			continue
		}
		for i := range ret.Results {
			returned = returned || LiteralOf(SoleValue(Returned(ret, i))) == lit
		}
	}
	return returned
}

// StartedBy is the go statement that runs a literal, nil if there is none.
func StartedBy(lit *ssa.Function) *ssa.Go {
	for _, run := range runsOf(lit) {
		if g, ok := run.(*ssa.Go); ok {
			return g
		}
	}
	return nil
}

// DeferOf is the defer statement of a function by which a call comes to run: its own, or that of the literal around it.
// Nil if it is not deferred.
func DeferOf(call ssa.CallInstruction, fn *ssa.Function) *ssa.Defer {
	if d, ok := call.(*ssa.Defer); ok && d.Parent() == fn {
		return d
	}
	lit := call.Parent()
	for lit.Parent() != nil && lit.Parent() != fn {
		lit = lit.Parent()
	}
	if lit == fn || lit.Parent() == nil {
		return nil
	}
	for _, run := range runsOf(lit) {
		if d, ok := run.(*ssa.Defer); ok {
			return d
		}
	}
	return nil
}

// UserOf is the one call that a function literal is handed to, or that runs it; nil if there are several.
func UserOf(lit *ssa.Function) ssa.Instruction {
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

// TakerOf is the call that a function literal is handed to directly, nil if there is none.
func TakerOf(lit *ssa.Function) ssa.CallInstruction {
	for _, b := range lit.Parent().Blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(ssa.CallInstruction)
			if !ok {
				continue
			}
			for _, a := range call.Common().Args {
				if mi, ok := a.(*ssa.ChangeType); ok {
					a = mi.X
				}
				mc, _ := a.(*ssa.MakeClosure)
				if a == ssa.Value(lit) || mc != nil && mc.Fn == lit {
					return call
				}
			}
		}
	}
	return nil
}

// IsDeferredLiteral reports whether a function is a literal that the one around it defers, and does nothing else with.
func IsDeferredLiteral(fn *ssa.Function) bool {
	if fn.Parent() == nil {
		return false
	}
	_, deferred := RunnerOf(fn).(*ssa.Defer)
	return deferred
}
