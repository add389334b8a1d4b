package leases

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file decides what the analysis may assume about code that it does not run through: literals that capture the
// lease, and loops that release it.

// leaks reports whether a variable can be reached by code that the analysis does not see: its address is taken, or a
// literal captures it that is not merely called or deferred here, as those given to t.Cleanup, context.AfterFunc, go
// or an errgroup are. Literals that only ask the lease something are harmless wherever they go.
// What may change a place is looked for elsewhere, see called.
func (f *follower) leaks(addr ssa.Value) bool {
	if _, ok := addr.(*place); ok {
		return false
	}
	return f.leaksUnless(addr, nil)
}

// leaksNow is leaks where the literals that the function itself makes count only once they are made: what happens to
// a lease before it is handed to t.Cleanup or to a goroutine is still this function's business.
func (f *follower) leaksNow(addr ssa.Value, s *pathState) bool {
	if _, ok := addr.(*place); ok {
		return false
	}
	return f.leaksUnless(addr, func(mc *ssa.MakeClosure) bool { return mc.Parent() == f.fn && s.known[mc] != theLiteral })
}

// leaksUnless is leaks without the literals that are not made yet.
func (f *follower) leaksUnless(addr ssa.Value, unmade func(*ssa.MakeClosure) bool) bool {
	for _, instr := range *addr.Referrers() {
		switch instr := instr.(type) {
		case *ssa.Store:
			if instr.Addr != addr {
				return true
			}
		case *ssa.UnOp, *ssa.DebugRef:
		case *ssa.MakeClosure:
			lit, ok := instr.Fn.(*ssa.Function)
			if !ok {
				return true
			}
			for i, b := range instr.Bindings {
				if b != addr {
					continue
				}
				if ssax.RunsInPlace(instr) && f.leaks(lit.FreeVars[i]) {
					return true
				}
				if !ssax.RunsInPlace(instr) && !f.borrows(lit.FreeVars[i]) && (unmade == nil || !unmade(instr)) {
					return true
				}
			}
		default:
			return true
		}
	}
	return false
}

// makes runs the making of a literal. If it goes where nobody follows it, so does the lease in what it captures.
func (f *follower) makes(mc *ssa.MakeClosure, s *pathState) {
	lit, ok := mc.Fn.(*ssa.Function)
	if !ok || ssax.RunsInPlace(mc) {
		return
	}
	releases := false
	for i, b := range mc.Bindings {
		if _, isVar := b.(*ssa.Alloc); !isVar || f.borrows(lit.FreeVars[i]) {
			continue
		}
		s.set(mc, theLiteral)
		switch {
		case s.known[b] != theLease:
		case f.releasesCaptured(lit.FreeVars[i]):
			releases = true
		default:
			s.Lease = escaped
		}
	}
	if releases {
		s.set(mc, theLease) // whoever has the literal can release with it
	}
}

// isNilCheck reports whether an assertion is what a method value of an interface makes sure of: that there is a value.
func isNilCheck(assert *ssa.TypeAssert) bool {
	return ssax.Unused(assert) && types.Identical(assert.AssertedType, assert.X.Type())
}

// borrows reports whether a literal only asks a captured lease something, extends it, or compares it.
func (f *follower) borrows(captured *ssa.FreeVar) bool {
	for _, instr := range *captured.Referrers() {
		load, ok := instr.(*ssa.UnOp)
		if !ok {
			return false
		}
		for _, use := range *load.Referrers() {
			switch use := use.(type) {
			case *ssa.Call:
				if f.li.HandleOf(use.Common()) != load {
					return false
				}
				if v := f.li.VerbOf(use.Common(), load); v != handles.VerbUse && v != handles.VerbExtend {
					return false
				}
			case *ssa.BinOp, *ssa.DebugRef:
			default:
				return false
			}
		}
	}
	return true
}

// releasesCaptured reports whether a literal releases a captured lease.
func (f *follower) releasesCaptured(captured *ssa.FreeVar) bool {
	for _, instr := range *captured.Referrers() {
		load, ok := instr.(*ssa.UnOp)
		if !ok {
			continue
		}
		for _, use := range *load.Referrers() {
			call, ok := use.(ssa.CallInstruction)
			if ok && f.li.HandleOf(call.Common()) == load && f.li.VerbOf(call.Common(), load) == handles.VerbRelease {
				return true
			}
		}
	}
	return false
}

// skipsRelease reports whether an edge leads past a loop that releases a lease which was acquired before: out of its
// head, or around it. The path then says that the loop ran not even once, which for a loop over the leases themselves,
// or one that tries the release several times, is not what happens.
func (f *follower) skipsRelease(from, to *ssa.BasicBlock) bool {
	for _, head := range append([]*ssa.BasicBlock{from}, from.Succs...) {
		loop := ssax.LoopOf(head)
		if len(loop) == 0 || loop[to] || f.site != nil && loop[f.site.Call.Block()] {
			continue
		}
		if f.releases(loop) {
			return true
		}
	}
	return false
}

// releases reports whether some block releases a lease.
func (f *follower) releases(loop map[*ssa.BasicBlock]bool) bool {
	for b := range loop {
		for _, instr := range b.Instrs {
			if call, ok := instr.(ssa.CallInstruction); ok && f.li.isReleaseCall(call.Common()) {
				return true
			}
		}
	}
	return false
}
