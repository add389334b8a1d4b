package leaks

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// keptByFlag reports whether a lock is released by nothing but a deferred literal that asks a flag of the function, which
// says yes when the literal is deferred, and which the function sets to the contrary: there it means to keep the lock, as in
//
//	unlock := true
//	defer func() {
//		if unlock {
//			mutex.Unlock()
//		}
//	}()
//	…
//	unlock = false
func keptByFlag(flow *leases.Flow) bool {
	if len(flow.Releases) == 0 {
		return false
	}
	for release := range flow.Releases {
		lit := release.Parent()
		if lit.Parent() != flow.Fn || ssax.DeferOf(release, flow.Fn) == nil || !asksFlag(release, flow) {
			return false
		}
	}
	return true
}

// asksFlag reports whether a release in a deferred literal depends on such a flag.
func asksFlag(release ssa.CallInstruction, flow *leases.Flow) bool {
	deferred := ssax.DeferOf(release, flow.Fn)
	for b := release.Block(); b.Idom() != nil; b = b.Idom() {
		branch, ok := b.Idom().Instrs[len(b.Idom().Instrs)-1].(*ssa.If)
		if !ok || len(b.Preds) != 1 {
			continue
		}
		wanted := b.Idom().Succs[0] == b
		cond := branch.Cond
		for {
			not, ok := cond.(*ssa.UnOp)
			if !ok || not.Op != token.NOT {
				break
			}
			cond, wanted = not.X, !wanted
		}
		load, ok := cond.(*ssa.UnOp)
		if !ok || load.Op != token.MUL || !ssax.IsBool(load.Type()) {
			continue
		}
		cell, ok := ssax.CellOf(load.X).(*ssa.Alloc)
		if !ok || cell.Parent() != flow.Fn {
			continue
		}
		says, contrary, other := !wanted, false, false // a flag that nobody has set is false
		for _, use := range *cell.Referrers() {
			st, ok := use.(*ssa.Store)
			if !ok {
				continue
			}
			v, isConst := ssax.ConstOf(st.Val)
			set := isConst && v.String() == "true"
			switch {
			case !isConst:
				other = true
			case ssax.RunsBefore(st, deferred):
				says = set == wanted
			default:
				contrary = contrary || set != wanted
			}
		}
		if says && contrary && !other {
			return true
		}
	}
	return false
}
