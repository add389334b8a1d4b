package leases

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file decides which variables code may change that the analysis does not run through. To read one is harmless.

// changesOutside reports whether such code may change a variable. What may change a place is looked for elsewhere, see
// called.
func (li *Info) changesOutside(cell ssa.Value) bool {
	if _, ok := cell.(*place); ok {
		return false
	}
	changes, known := li.changed[cell]
	if !known {
		changes = changesOutside(cell, false)
		li.changed[cell] = changes
	}
	return changes
}

// changesOutside is told whether the variable is that of a literal that goes somewhere.
func changesOutside(addr ssa.Value, gone bool) bool {
	for _, instr := range *addr.Referrers() {
		switch instr := instr.(type) {
		case *ssa.Store:
			if instr.Addr != addr || gone {
				return true
			}
		case *ssa.UnOp, *ssa.DebugRef:
		case *ssa.Call:
			if does, _ := doneThrough(instr, addr); does == unknownEffect || gone && does != onlyReads {
				return true
			}
		case *ssa.MakeClosure:
			lit, ok := instr.Fn.(*ssa.Function)
			if !ok {
				return true
			}
			for i, b := range instr.Bindings {
				if b == addr && changesOutside(lit.FreeVars[i], gone || !transparent(instr)) {
					return true
				}
			}
		default:
			return true
		}
	}
	return false
}

// An effect is what a function does with the variable that it is given the address of.
type effect uint8

const (
	unknownEffect effect = iota
	onlyReads
	sets // to a constant, on every way
)

// doneThrough says what a call of a function of the program does with a variable whose address is an argument, and what it
// sets it to:
//
//	func set(flag *bool) { *flag = true }
func doneThrough(call *ssa.Call, addr ssa.Value) (does effect, to *ssa.Const) {
	fn := call.Call.StaticCallee()
	if fn == nil || len(fn.Blocks) == 0 || len(fn.FreeVars) > 0 || len(fn.Params) != len(call.Call.Args) {
		return unknownEffect, nil
	}
	does = onlyReads
	for i, a := range call.Call.Args {
		if a != addr {
			continue
		}
		at, value := doneWith(fn.Params[i])
		if at == unknownEffect || at == sets && does == sets {
			return unknownEffect, nil
		}
		if at == sets {
			does, to = at, value
		}
	}
	return does, to
}

// doneWith says what a function does with the variable that a parameter points to.
func doneWith(p *ssa.Parameter) (does effect, to *ssa.Const) {
	var set *ssa.Store
	for _, use := range *p.Referrers() {
		switch use := use.(type) {
		case *ssa.DebugRef:
		case *ssa.UnOp:
			if use.Op != token.MUL {
				return unknownEffect, nil
			}
		case *ssa.Store:
			if use.Addr != ssa.Value(p) || set != nil {
				return unknownEffect, nil
			}
			set = use
		default:
			return unknownEffect, nil
		}
	}
	if set == nil {
		return onlyReads, nil
	}
	value, ok := set.Val.(*ssa.Const)
	if !ok {
		return unknownEffect, nil
	}
	for _, b := range p.Parent().Blocks {
		if _, leaves := b.Instrs[len(b.Instrs)-1].(*ssa.Return); leaves && !set.Block().Dominates(b) {
			return unknownEffect, nil
		}
	}
	return sets, value
}

// setThrough records what a call does with the variables whose addresses it is given.
func (f *follower) setThrough(call *ssa.Call, s *pathState) {
	for _, a := range call.Call.Args {
		switch a.(type) {
		case *ssa.Alloc, *ssa.FreeVar, *ssa.FieldAddr, *ssa.IndexAddr:
		default:
			continue
		}
		cell := f.places.variable(a)
		if cell == nil || !ssax.Within(homeOf(cell), f.fn) {
			continue
		}
		if does, to := doneThrough(call, a); does == sets {
			f.overwritten(a, s)
			f.unanswer(a, s)
			f.assign(cell, s.of(to), s)
			f.put(cell, constContent(to), s)
		}
	}
}
