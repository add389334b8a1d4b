package refusals

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
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
func heedsSome(site *leases.Site, flow *leases.Flow, lease func(ssa.Value) bool) ssa.CallInstruction {
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
			if _, ok := use.(*ssa.DebugRef); ok || keepsReading(use, err) {
				continue
			}
			if branch := sentinelTest(use, read); branch != nil && (ofLibrary || asksLibrary(use)) {
				tests = append(tests, branch)
			} else {
				elsewhere = append(elsewhere, use)
			}
		}
	}
	for _, use := range elsewhere {
		if use.Block() == nil || !slices.ContainsFunc(tests, func(t *ssa.If) bool { return only(t, 0, use.Block()) }) {
			return nil
		}
	}
	if len(tests) == 0 {
		return nil
	}
	spared := map[ssa.Instruction]bool{}
	ssax.EachInstr(flow.Fn, func(instr ssa.Instruction) {
		if call, ok := instr.(*ssa.Call); ok &&
			!slices.ContainsFunc(tests, func(t *ssa.If) bool { return !only(t, 1, call.Block()) }) {
			spared[call] = true
		}
	})
	if work := sections.WorkIn(spared); len(work) > 0 {
		return work[0]
	}
	return nil
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

// sentinelTest is the branch that a use of an error decides by comparing it with another error, the first way of which
// is for those that are the same; nil for other uses.
func sentinelTest(use ssa.Instruction, err ssa.Value) *ssa.If {
	var cond ssa.Value
	switch use := use.(type) {
	case *ssa.BinOp:
		if use.Op != token.EQL || ssax.IsNilConst(use.X) || ssax.IsNilConst(use.Y) {
			return nil
		}
		cond = use
	case *ssa.Call:
		fn := use.Call.StaticCallee()
		if fn == nil || fn.Object() == nil || ssax.CalleeName(fn) != "errors.Is" || use.Call.Args[0] != err {
			return nil
		}
		cond = use
	default:
		return nil
	}
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

// asksLibrary reports whether a test compares an error with one of a library of locks.
func asksLibrary(test ssa.Instruction) bool {
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

// only reports whether a block is reached through one way of a branch, and in no other.
func only(branch *ssa.If, way int, b *ssa.BasicBlock) bool {
	first := branch.Block().Succs[way]
	return len(first.Preds) == 1 && first.Dominates(b)
}
