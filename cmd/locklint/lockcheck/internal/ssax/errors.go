package ssax

import (
	"go/token"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// A lock is released whatever the outcome. A key that is deleted only sometimes is something else: an idempotency key
// that is given back when the work failed, a flag that is reset. This file tells the two apart inside one function.

// UndoesFailure reports whether a call runs only after some error: then deleting the key lets a failed operation be
// repeated, which is how idempotency keys are used.
func UndoesFailure(call ssa.CallInstruction) bool { return undoesFailure(call, nil) }

// UndoesFailureSince is UndoesFailure for errors that come after another call in the function: one before it, such as
// that of a cache which has nothing, is no failure of what the call began.
func UndoesFailureSince(since, call ssa.CallInstruction) bool {
	return undoesFailure(call, since.Block())
}

func undoesFailure(call ssa.CallInstruction, since *ssa.BasicBlock) bool {
	for b := call.Block(); b.Idom() != nil && b != since; b = b.Idom() {
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

// LeavesWithError reports whether a call stands in a block that returns an error: of all ways to go on with the key, this
// is one on which the work is not done.
func LeavesWithError(call ssa.CallInstruction) bool {
	if IsDeferred(call) {
		return false
	}
	ret, ok := call.Block().Instrs[len(call.Block().Instrs)-1].(*ssa.Return)
	if !ok {
		return false
	}
	for _, v := range ret.Results {
		if IsError(v.Type()) && isSomeError(v) && !isResultOf(v, call) && !joinsResult(v, call) {
			return true
		}
	}
	return false
}

// GoesOn reports whether what a function returns behind a call is what another call returns: it goes on with its work, as
// return tx.Commit() does, or tells how the work has ended that it did before, and does not say that it has failed.
func GoesOn(call ssa.CallInstruction) bool {
	b := call.Block()
	ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
	if !ok || len(ret.Results) == 0 {
		return false
	}
	v := Returned(ret, len(ret.Results)-1)
	if ex, ok := v.(*ssa.Extract); ok {
		v = ex.Tuple
	}
	next, ok := v.(*ssa.Call)
	if !ok || !next.Block().Dominates(b) || isResultOf(next, call) || IsNewError(next) || undoesFailure(call, next.Block()) {
		return false
	}
	m, ok := MethodOf(&next.Call)
	if !ok {
		return !ComesAfter(call, next) // the work that the function was given, done before
	}
	return !errorWord.MatchString(m.Obj.FullName()) && !saysFailed(next, 0)
}

// saysFailed reports whether a reply is made of an HTTP status that says that a request has failed.
func saysFailed(v ssa.Value, depth int) bool {
	call, ok := v.(*ssa.Call)
	if !ok || depth > MaxDepth {
		return false
	}
	of := call.Call.Args
	if call.Call.IsInvoke() {
		of = append(slices.Clone(of), call.Call.Value)
	}
	return slices.ContainsFunc(of, func(a ssa.Value) bool {
		if n := IntOf(a); n >= 400 && n < 600 {
			return true
		}
		return saysFailed(a, depth+1)
	})
}

// UndoesOnError reports whether a call stands in a function literal that the function around it calls on nothing but ways
// out with an error, as in
//
//	rollback := func() { rdb.Del(ctx, key) }
func UndoesOnError(call ssa.CallInstruction) bool {
	lit := call.Parent()
	if lit.Parent() == nil || IsDeferred(call) {
		return false
	}
	calls, always := 0, true
	EachCall(lit.Parent(), func(c ssa.CallInstruction) {
		if LiteralOf(c.Common().Value) == lit {
			calls++
			always = always && (LeavesWithError(c) || UndoesFailure(c))
		}
	})
	if mc := makeClosure(lit); mc == nil || slices.ContainsFunc(*mc.Referrers(), func(use ssa.Instruction) bool {
		call, isCall := use.(*ssa.Call)
		_, isDebug := use.(*ssa.DebugRef)
		return !isDebug && (!isCall || call.Call.Value != ssa.Value(mc))
	}) {
		return false // it goes elsewhere, too
	}
	return calls > 0 && always
}

// MakesError reports whether a call stands in a block that returns an error which is made there, by a function of the
// program's own too: one of a package of errors, or with a name that says so.
func MakesError(call ssa.CallInstruction) bool {
	b := call.Block()
	if IsDeferred(call) || len(b.Preds) != 1 {
		return false
	}
	if ReturnsNewError(b) {
		return true
	}
	ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
	if !ok || len(ret.Results) == 0 {
		return false
	}
	made, ok := Returned(ret, len(ret.Results)-1).(*ssa.Call)
	if !ok || !IsError(made.Type()) || isResultOf(made, call) {
		return false
	}
	fn := made.Call.StaticCallee()
	return fn != nil && fn.Object() != nil && fn.Signature.Recv() == nil && errorWord.MatchString(CalleeName(fn))
}

// errorWord finds packages and functions that make errors, by their names.
var errorWord = regexp.MustCompile(`(?i)err(?:or)?s?\b|\berr|/status\.`)

// ReturnsNewError reports whether a block leaves the function with an error that is certainly there: a package variable,
// or one that is made there.
func ReturnsNewError(b *ssa.BasicBlock) bool {
	ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
	if !ok || len(ret.Results) == 0 || !IsError(ret.Results[len(ret.Results)-1].Type()) {
		return false
	}
	return IsNewError(Returned(ret, len(ret.Results)-1))
}

// IsNewError reports whether an error is certainly there: a package variable, or one that is made on the spot.
func IsNewError(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Call:
		fn := v.Call.StaticCallee()
		return fn != nil && fn.Object() != nil && errorMakers[CalleeName(fn)]
	case *ssa.UnOp:
		_, ok := v.X.(*ssa.Global)
		return ok
	case *ssa.MakeInterface:
		return true
	}
	return false
}

// Returned is a result as the block of the return has set it: in a function that defers, results are variables.
func Returned(ret *ssa.Return, i int) ssa.Value {
	load, ok := ret.Results[i].(*ssa.UnOp)
	if !ok || load.Op != token.MUL {
		return ret.Results[i]
	}
	v := ret.Results[i]
	for _, instr := range ret.Block().Instrs {
		if st, ok := instr.(*ssa.Store); ok && st.Addr == load.X {
			v = st.Val
		}
	}
	return v
}

// errorMakers are functions whose error is never nil.
var errorMakers = map[string]bool{
	"errors.New": true, "fmt.Errorf": true, "github.com/pkg/errors.New": true, "github.com/pkg/errors.Errorf": true,
	directive.RuntimePath + ".NilPointer": true,
}

// isSomeError reports whether an error is certainly there, or comes from a call: what a variable holds may be nil.
func isSomeError(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.MakeInterface, *ssa.Call:
		return true
	case *ssa.UnOp:
		_, ok := v.X.(*ssa.Global)
		return ok
	}
	return false
}

// isResultOf reports whether a value is what a call returns, or what a method of that returns.
func isResultOf(v ssa.Value, call ssa.CallInstruction) bool {
	result := call.Value()
	if result == nil || v == ssa.Value(result) {
		return result != nil
	}
	of, ok := v.(*ssa.Call)
	return ok && len(of.Call.Args) > 0 && isFrom(of.Call.Args[0], result)
}

// joinsResult reports whether an error joins what a call returns with others that may be nil, as errors.Join(err,
// rdb.Del(ctx, key).Err()) does.
func joinsResult(v ssa.Value, call ssa.CallInstruction) bool {
	join, ok := v.(*ssa.Call)
	if !ok || join.Call.StaticCallee() == nil || CalleeName(join.Call.StaticCallee()) != "errors.Join" {
		return false
	}
	list, _ := Variadic(join.Call.Args[0])
	return slices.ContainsFunc(list, func(e ssa.Value) bool { return isResultOf(e, call) }) && !slices.ContainsFunc(list, IsNewError)
}

// isFrom reports whether a value is another, or a field of what that points to.
func isFrom(v, from ssa.Value) bool {
	field, ok := v.(*ssa.FieldAddr)
	return v == from || ok && field.X == from
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
