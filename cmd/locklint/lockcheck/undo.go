package lockcheck

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A lock is released whatever the outcome. A key that is deleted only sometimes is something else: an idempotency key
// that is given back when the work failed, a flag that is reset. This file tells the two apart inside one function.

// undoesFailure reports whether a call runs only after some error: then deleting the key lets a failed operation be
// repeated, which is how idempotency keys are used.
func undoesFailure(call ssa.CallInstruction) bool {
	for b := call.Block(); b.Idom() != nil; b = b.Idom() {
		if len(b.Preds) != 1 || b.Preds[0] != b.Idom() {
			continue
		}
		cond, ok := b.Idom().Instrs[len(b.Idom().Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		if failed, ok := errorBranch(cond.Cond); ok && b.Idom().Succs[failed] == b && b.Idom().Succs[0] != b.Idom().Succs[1] {
			return true
		}
	}
	return false
}

// errorBranch returns which successor is taken when the condition finds an error: 0 for err != nil, 1 for err == nil.
func errorBranch(cond ssa.Value) (int, bool) {
	b, ok := cond.(*ssa.BinOp)
	if !ok || !isError(b.X.Type()) || b.Op != token.NEQ && b.Op != token.EQL {
		return 0, false
	}
	if !isNilConst(b.X) && !isNilConst(b.Y) {
		return 0, false
	}
	if b.Op == token.NEQ {
		return 0, true
	}
	return 1, true
}

func isNilConst(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value == nil
}

// skippable reports whether a release stands in a branch that rejoins the rest of its function, as in
//
//	if status >= 400 {
//		rdb.Del(ctx, key)
//	}
//
// A branch that depends on the acquire itself is fine, and so are early returns before the release: forgetting it
// there does not make it anything but a release.
func skippable(a *command, release ssa.CallInstruction) bool {
	stop := a.call.Block()
	for b := release.Block(); b != stop && b.Idom() != nil; b = b.Idom() {
		cond, ok := b.Idom().Instrs[len(b.Idom().Instrs)-1].(*ssa.If)
		if !ok || len(b.Preds) != 1 || b.Preds[0] != b.Idom() {
			continue
		}
		other := b.Idom().Succs[0]
		if other == b {
			other = b.Idom().Succs[1]
		}
		if rejoin(release.Block(), other, stop) && !dependsOn(cond.Cond, a, 0) {
			return true
		}
	}
	return false
}

// rejoin reports whether two branches lead to a common block other than stop.
func rejoin(x, y, stop *ssa.BasicBlock) bool {
	after := map[*ssa.BasicBlock]bool{}
	reach(x, stop, after)
	also := map[*ssa.BasicBlock]bool{}
	reach(y, stop, also)
	for b := range after {
		if also[b] {
			return true
		}
	}
	return false
}

// reach collects the blocks that can run from b on, without passing stop.
func reach(b, stop *ssa.BasicBlock, seen map[*ssa.BasicBlock]bool) {
	if b == stop || seen[b] {
		return
	}
	seen[b] = true
	for _, s := range b.Succs {
		reach(s, stop, seen)
	}
}

// dependsOn reports whether a condition is about an acquire: its outcome, its error, or a flag that is set to a
// constant on some path, which mostly says whether the lock was taken.
func dependsOn(v ssa.Value, a *command, depth int) bool {
	if v == nil || depth > 2*maxKeyDepth {
		return false
	}
	on := func(v ssa.Value) bool { return dependsOn(v, a, depth+1) }
	switch v := v.(type) {
	case *ssa.Call:
		if ssa.CallInstruction(v) == a.call {
			return true
		}
		if v.Call.IsInvoke() && on(v.Call.Value) || slices.ContainsFunc(v.Call.Args, on) {
			return true
		}
	case *ssa.Phi:
		for _, e := range v.Edges {
			if _, isConst := e.(*ssa.Const); isConst && isBool(v.Type()) || on(e) {
				return true
			}
		}
	case *ssa.UnOp:
		if v.Op != token.MUL {
			return on(v.X)
		}
		return variableDependsOn(cellOf(v.X), a, depth)
	case *ssa.FieldAddr:
		return on(v.X)
	case ssa.Instruction:
		for _, op := range v.Operands(nil) {
			if *op != nil && on(*op) {
				return true
			}
		}
	}
	return false
}

// variableDependsOn is dependsOn for what a captured variable may hold.
func variableDependsOn(addr ssa.Value, a *command, depth int) bool {
	cell, ok := addr.(*ssa.Alloc)
	if !ok {
		return dependsOn(addr, a, depth+1)
	}
	found := false
	eachCellUse(cell, func(instr ssa.Instruction, addr ssa.Value) bool {
		if st, ok := instr.(*ssa.Store); ok && st.Addr == addr {
			_, isConst := st.Val.(*ssa.Const)
			found = found || isConst && isBool(st.Val.Type()) || dependsOn(st.Val, a, depth+1)
		}
		return true
	})
	return found
}
