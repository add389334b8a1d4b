package ssax

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// This file knows where a context has ended, and under which names a program has it.

// EmbedsContext reports whether a type is or points to a struct that a context is embedded in.
func EmbedsContext(t types.Type) bool {
	st, ok := Elem(t).Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for f := range st.Fields() {
		if f.Embedded() && IsContext(f.Type()) {
			return true
		}
	}
	return false
}

// BareContext is a context as the program names it: without the conversion of an interface that has more methods, and
// the struct for a context that is embedded in it.
func BareContext(v ssa.Value) ssa.Value {
	for v != nil {
		v = SoleValue(v)
		switch to := v.(type) {
		case *ssa.ChangeInterface:
			v = to.X
			continue
		case *ssa.MakeInterface:
			v = to.X
			continue
		case *ssa.UnOp:
			if field, ok := to.X.(*ssa.FieldAddr); ok && IsContext(to.Type()) && EmbedsContext(field.X.Type()) {
				v = structOf(field.X)
			}
		case *ssa.Field:
			if IsContext(to.Type()) && EmbedsContext(to.X.Type()) {
				v = to.X
				continue
			}
		}
		break
	}
	return v
}

// structOf is the struct behind an address: what a variable was set to, if that happened once.
func structOf(addr ssa.Value) ssa.Value {
	if cell, ok := CellOf(addr).(*ssa.Alloc); ok {
		if stored, ok := OnlyStore(cell); ok {
			return stored
		}
	}
	return addr
}

// IsOver reports whether an instruction runs only once a context has ended: behind a receive from its channel, behind a
// test of its error, or behind what ends it, of which ends knows.
func IsOver(ctx ssa.Value, at ssa.Instruction, ends func(ssa.Instruction) bool) bool {
	for b := at.Block(); b != nil; b = b.Idom() {
		for _, instr := range b.Instrs {
			if instr == at {
				break
			}
			if recv, ok := instr.(*ssa.UnOp); ok && recv.Op == token.ARROW && AsksContext(ctx, recv.X, "Done") || ends(instr) {
				return true
			}
		}
		if d := b.Idom(); d != nil && len(b.Preds) == 1 && endedOn(ctx, d, b) {
			return true
		}
	}
	return false
}

// endedOn reports whether the branch from one block to another is taken only where a context has ended.
func endedOn(ctx ssa.Value, from, to *ssa.BasicBlock) bool {
	branch, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
	if !ok {
		return false
	}
	cond, ok := branch.Cond.(*ssa.BinOp)
	if !ok {
		return false
	}
	yes := from.Succs[0] == to
	if IsNilConst(cond.Y) && AsksContext(ctx, SoleValue(cond.X), "Err") {
		return yes == (cond.Op == token.NEQ)
	}
	index, ok := cond.X.(*ssa.Extract)
	if !ok || !yes || cond.Op != token.EQL {
		return false
	}
	sel, ok := index.Tuple.(*ssa.Select)
	i := IntOf(cond.Y)
	return ok && index.Index == 0 && i >= 0 && i < len(sel.States) && AsksContext(ctx, sel.States[i].Chan, "Done")
}

// AsksContext reports whether a value is the result of a method of a context.
func AsksContext(ctx, v ssa.Value, name string) bool {
	call, ok := SoleValue(v).(*ssa.Call)
	return ok && call.Call.IsInvoke() && call.Call.Method.Name() == name && BareContext(call.Call.Value) == ctx
}

// IsEndOf reports whether an error is what a context says that is over by then: it is certainly there.
func IsEndOf(err ssa.Value) bool {
	call, ok := err.(*ssa.Call)
	if !ok {
		return false
	}
	ctx := ContextOf(&call.Call)
	if call.Call.IsInvoke() && call.Call.Method.Name() == "Err" && IsContext(call.Call.Value.Type()) {
		ctx = call.Call.Value
	} else if fn := call.Call.StaticCallee(); fn == nil || fn.Object() == nil || CalleeName(fn) != "context.Cause" {
		return false
	}
	return IsOver(BareContext(ctx), call, func(ssa.Instruction) bool { return false })
}
