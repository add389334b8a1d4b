package refusals

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file finds acquires of which only some failures are heeded, as in
//
//	lock, err := locker.Obtain(ctx, key, ttl, nil)
//	if errors.Is(err, redislock.ErrNotObtained) {
//		return err
//	}
//	defer lock.Release(ctx)
//
// where any other error, such as that of a connection, leads to the same place as the lock.

// heedsSome is the call that runs with the lock, and without it after another error than those that somebody tells
// apart; nil where any error is heeded. The error must go nowhere else, and the lock must not be looked at. A function
// of the program may have no other errors than its own; a library's acquire always has, and so has what hands on the
// errors of one.
func heedsSome(r *check.Reporter, site *leases.Site, flow *leases.Flow, lease func(ssa.Value) bool) ssa.CallInstruction {
	m, ok := ssax.MethodOf(&site.Call.Call)
	err := errorOf(site, lease)
	if !ok || err == nil || site.OK >= 0 {
		return nil
	}
	ofLibrary := clients.OfPackage(m.Obj.Pkg()) != clients.None || site.AnyError
	var tests []*ssa.If
	var elsewhere []ssa.Instruction
	for _, read := range readings(err) {
		for _, use := range *read.Referrers() {
			if _, ok := use.(*ssa.DebugRef); ok || keepsReading(use, err) || joinedAlone(use, err) != nil {
				continue
			}
			if branch := sentinelTest(use, read); branch != nil && (ofLibrary || asksLibrary(use)) {
				tests = append(tests, branch)
			} else {
				elsewhere = append(elsewhere, use)
			}
		}
	}
	if len(tests) == 0 {
		return nil
	}
	other := unfound(site.Call.Block(), tests)
	for _, use := range elsewhere {
		if use.Block() == nil || other[use.Block()] || use.Parent() != site.Call.Parent() {
			return nil
		}
	}
	spared := map[ssa.Instruction]bool{}
	ssax.EachInstr(flow.Fn, func(instr ssa.Instruction) {
		if call, ok := instr.(*ssa.Call); ok && (behindAll(tests, call) || flow.Unasked[call] && behindSome(tests, call)) {
			spared[call] = true
		}
	})
	return workOf(r, spared)
}

// behindAll reports whether a call runs only where none of some tests has found anything.
func behindAll(tests []*ssa.If, call *ssa.Call) bool {
	return !slices.ContainsFunc(tests, func(t *ssa.If) bool { return !only(t, 1, call.Block()) })
}

// behindSome reports whether a call runs behind one of some tests, whatever that has found.
func behindSome(tests []*ssa.If, call *ssa.Call) bool {
	return slices.ContainsFunc(tests, func(t *ssa.If) bool {
		return t.Block() != call.Block() && t.Block().Dominates(call.Block())
	})
}

// errorOf is the error of an acquire, nil if there is none, or if the lock itself is looked at.
func errorOf(site *leases.Site, lease func(ssa.Value) bool) (err ssa.Value) {
	if site.Err < 0 {
		if site.Recv != nil && ssax.IsError(site.Call.Type()) {
			return site.Call
		}
		return nil
	}
	for _, use := range *site.Call.Referrers() {
		ex, ok := use.(*ssa.Extract)
		switch {
		case !ok:
		case ex.Index == site.Err:
			err = ex
		case ex.Index == site.Lease && !lease(ex) && !onlyDeferred(ex):
			return nil
		}
	}
	return err
}

// unfound are the blocks that are reached from one, itself included, also where none of some tests finds anything.
func unfound(from *ssa.BasicBlock, tests []*ssa.If) map[*ssa.BasicBlock]bool {
	found := map[*ssa.BasicBlock]bool{} // the blocks of the tests
	for _, t := range tests {
		found[t.Block()] = true
	}
	reached := map[*ssa.BasicBlock]bool{}
	var visit func(b *ssa.BasicBlock)
	visit = func(b *ssa.BasicBlock) {
		if reached[b] {
			return
		}
		reached[b] = true
		for i, next := range b.Succs {
			if i != 0 || !found[b] {
				visit(next)
			}
		}
	}
	visit(from)
	return reached
}

// sentinelTest is the branch that a use of an error decides by comparing it with other errors, or looking for one of a type,
// the first way of which is for those that are found; nil for other uses. What any error is says nothing.
func sentinelTest(use ssa.Instruction, err ssa.Value) *ssa.If {
	cond := sentinelCond(use, err)
	if call, ok := use.(*ssa.Call); ok && cond == nil && findsSome(call, err) {
		cond = call
	}
	if cond == nil {
		return nil
	}
	return branchOn(cond)
}

// sentinelCond is what a use of an error yields that compares it with another error, or looks for one of a type.
func sentinelCond(use ssa.Instruction, err ssa.Value) ssa.Value {
	switch use := use.(type) {
	case *ssa.BinOp:
		if use.Op == token.EQL && !ssax.IsNilConst(use.X) && !ssax.IsNilConst(use.Y) {
			return use
		}
	case *ssa.TypeAssert:
		if use.CommaOk && !isAnyError(use.AssertedType) {
			return whetherFound(use)
		}
	case *ssa.Call:
		switch {
		case len(use.Call.Args) == 0 || use.Call.Args[0] != err:
		case ssax.IsAsType(use) && !isAnyError(soughtIn(use)):
			return whetherFound(use)
		case isCallOf(use, "errors.Is"), isCallOf(use, "errors.As") && !isAnyError(soughtIn(use)):
			return use
		}
	}
	return nil
}

// branchOn is the only use of a condition, if that is a branch.
func branchOn(cond ssa.Value) *ssa.If {
	var branch *ssa.If
	for _, instr := range *cond.Referrers() {
		switch instr := instr.(type) {
		case *ssa.If:
			if branch != nil {
				return nil
			}
			branch = instr
		case *ssa.DebugRef:
		default:
			return nil
		}
	}
	return branch
}

// findsSome reports whether a call asks a function of the program for certain errors, as in
//
//	func isBusy(err error) bool { return errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, context.Canceled) }
//
// which says no where the error is none of them.
func findsSome(call *ssa.Call, err ssa.Value) bool {
	fn := call.Call.StaticCallee()
	if fn == nil || len(fn.Params) != 1 || len(fn.Blocks) == 0 || len(fn.FreeVars) > 0 || call.Call.Args[0] != err ||
		!ssax.IsBool(call.Type()) {
		return false
	}
	var tests []*ssa.If
	no := map[ssa.Value]bool{} // where nothing is found
	for _, use := range *fn.Params[0].Referrers() {
		if _, ok := use.(*ssa.DebugRef); ok {
			continue
		}
		cond := sentinelCond(use, fn.Params[0])
		if cond == nil {
			return false
		}
		no[cond] = true
		if branch := branchOn(cond); branch != nil {
			tests = append(tests, branch)
		}
	}
	reached := unfound(fn.Blocks[0], tests)
	saysNo := func(v ssa.Value) bool {
		c, ok := v.(*ssa.Const)
		return no[v] || ok && c.Value != nil && c.Value.String() == "false"
	}
	for b := range reached {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok {
			continue
		}
		phi, ok := ret.Results[0].(*ssa.Phi)
		if !ok || phi.Block() != b {
			if !saysNo(ret.Results[0]) {
				return false
			}
			continue
		}
		for i, v := range phi.Edges {
			from := b.Preds[i]
			branch, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
			isFound := ok && slices.Contains(tests, branch) && from.Succs[0] == b
			if reached[from] && !isFound && !saysNo(v) {
				return false
			}
		}
	}
	return len(no) > 0
}

func isCallOf(call *ssa.Call, name string) bool {
	fn := call.Call.StaticCallee()
	return fn != nil && fn.Object() != nil && ssax.CalleeName(fn) == name
}

// whetherFound is the second result of a look for an error of a type, nil if nobody asks for it.
func whetherFound(look ssa.Value) ssa.Value {
	for _, use := range *look.Referrers() {
		if ex, ok := use.(*ssa.Extract); ok && ex.Index == 1 {
			return ex
		}
	}
	return nil
}

// soughtIn is the type of error that errors.As or errors.AsType looks for, nil if it is not in sight.
func soughtIn(look *ssa.Call) types.Type {
	if results, ok := look.Type().(*types.Tuple); ok {
		return results.At(0).Type()
	}
	target, ok := look.Call.Args[1].(*ssa.MakeInterface)
	if !ok {
		return nil
	}
	return ssax.Elem(target.X.Type())
}

// isAnyError reports whether each error is of a type, or nobody knows.
func isAnyError(t types.Type) bool {
	if t == nil {
		return true
	}
	i, ok := t.Underlying().(*types.Interface)
	return ok && types.Implements(types.Universe.Lookup("error").Type(), i)
}

// asksLibrary reports whether a test compares an error with one of a library of locks, or looks for one of its types.
func asksLibrary(test ssa.Instruction) bool {
	switch test := test.(type) {
	case *ssa.TypeAssert:
		return isOfLibrary(test.AssertedType)
	case *ssa.Call:
		if !isCallOf(test, "errors.Is") {
			return isOfLibrary(soughtIn(test))
		}
	}
	for _, op := range test.Operands(nil) {
		load, ok := (*op).(*ssa.UnOp)
		if !ok {
			continue
		}
		if g, ok := load.X.(*ssa.Global); ok && clients.IsKept(clients.OfPackage(g.Pkg.Pkg)) {
			return true
		}
	}
	return false
}

// isOfLibrary reports whether a type of error is one of a library of locks.
func isOfLibrary(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && clients.IsKept(clients.OfPackage(n.Obj().Pkg()))
}

// only reports whether a block is reached through one way of a branch, and in no other.
func only(branch *ssa.If, way int, b *ssa.BasicBlock) bool {
	first := branch.Block().Succs[way]
	return len(first.Preds) == 1 && first.Dominates(b)
}
