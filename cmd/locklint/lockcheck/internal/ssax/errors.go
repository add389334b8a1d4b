package ssax

import (
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// A lock is released whatever the outcome. A key that is deleted only sometimes is something else: an idempotency key
// that is given back when the work failed, a flag that is reset. This file tells the two apart inside one function.

// UndoesFailure reports whether a call runs only after some error: then deleting the key lets a failed operation be
// repeated, which is how idempotency keys are used.
func UndoesFailure(call ssa.CallInstruction) bool {
	for b := call.Block(); b.Idom() != nil; b = b.Idom() {
		if len(b.Preds) != 1 || b.Preds[0] != b.Idom() {
			continue
		}
		cond, ok := b.Idom().Instrs[len(b.Idom().Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		if failed, ok := ErrorBranch(cond.Cond); ok && b.Idom().Succs[failed] == b && b.Idom().Succs[0] != b.Idom().Succs[1] {
			return true
		}
	}
	return false
}

// LeavesOnFailure reports whether a call runs only on the way out after some error: UndoesFailure, also where the error
// is one of several reasons to leave, as in if err != nil || x == nil.
func LeavesOnFailure(call ssa.CallInstruction) bool {
	if UndoesFailure(call) {
		return true
	}
	b := call.Block()
	if _, leaves := b.Instrs[len(b.Instrs)-1].(*ssa.Return); !leaves || len(b.Preds) < 2 {
		return false
	}
	found := false
	for _, p := range b.Preds {
		cond, ok := p.Instrs[len(p.Instrs)-1].(*ssa.If)
		if !ok {
			return false
		}
		failed, isErr := ErrorBranch(cond.Cond)
		found = found || isErr && p.Succs[failed] == b
	}
	return found
}

// ErrorBranch returns which successor is taken when the condition finds an error: 0 for err != nil, 1 for err == nil.
func ErrorBranch(cond ssa.Value) (int, bool) {
	b, ok := cond.(*ssa.BinOp)
	if !ok || !IsError(b.X.Type()) || b.Op != token.NEQ && b.Op != token.EQL {
		return 0, false
	}
	if !IsNilConst(b.X) && !IsNilConst(b.Y) {
		return 0, false
	}
	if b.Op == token.NEQ {
		return 0, true
	}
	return 1, true
}
