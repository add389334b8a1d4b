package leases

import (
	"go/token"
	"go/types"
	"slices"

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
	return slices.ContainsFunc(*addr.Referrers(), func(instr ssa.Instruction) bool { return givesAway(instr, addr, gone) })
}

// givesAway reports whether code may change a variable, that the analysis does not run through, because of an
// instruction.
func givesAway(instr ssa.Instruction, addr ssa.Value, gone bool) bool {
	switch instr := instr.(type) {
	case *ssa.Store:
		return instr.Addr != addr || gone
	case *ssa.UnOp, *ssa.DebugRef:
		return false
	case *ssa.Call:
		effects, known := effectsThrough(instr, addr)
		return !known || gone && slices.ContainsFunc(effects, effect.sets)
	case *ssa.MakeClosure:
		lit, ok := instr.Fn.(*ssa.Function)
		if !ok {
			return true
		}
		gone = gone || !runsHere(instr)
		for i, b := range instr.Bindings {
			if b == addr && changesOutside(lit.FreeVars[i], gone) {
				return true
			}
		}
		return false
	}
	return true
}

// runsHere reports whether a literal is only called or deferred where it stands, so that the analysis runs through it. It
// does not run through the function that a method value is.
func runsHere(mc *ssa.MakeClosure) bool {
	lit, ok := mc.Fn.(*ssa.Function)
	return ok && lit.Parent() != nil && ssax.RunsInPlace(mc)
}

// An effect is what a function does on every way with the variable, or the field of a struct, that a parameter leads to.
type effect struct {
	field int        // -1: the variable itself
	in    types.Type // the struct
	to    *ssa.Const // nil: it is only read
	at    ssa.Value  // the address in the function
}

// sets reports whether an effect is more than to read.
func (on effect) sets() bool { return on.to != nil }

// effectsOn are the effects of a function on what a parameter points to. known is false where it may do anything else.
func effectsOn(p *ssa.Parameter) (effects []effect, known bool) {
	for _, use := range *p.Referrers() {
		switch use := use.(type) {
		case *ssa.DebugRef:
		case *ssa.FieldAddr:
			on, known := effectOf(use, *use.Referrers())
			if !known {
				return nil, false
			}
			on.field, on.in = use.Field, ssax.Elem(p.Type())
			effects = append(effects, on)
		default:
			on, known := effectOf(p, []ssa.Instruction{use})
			if !known {
				return nil, false
			}
			on.field = -1
			effects = append(effects, on)
		}
	}
	for i, on := range effects { // set twice, in an order that is not looked at
		if on.to != nil && slices.ContainsFunc(effects[i+1:], func(e effect) bool { return e.to != nil && e.field == on.field }) {
			return nil, false
		}
	}
	return effects, true
}

// effectOf is what is done with an address.
func effectOf(addr ssa.Value, uses []ssa.Instruction) (on effect, known bool) {
	on.at = addr
	for _, use := range uses {
		switch use := use.(type) {
		case *ssa.DebugRef:
		case *ssa.UnOp:
			if use.Op != token.MUL {
				return on, false
			}
		case *ssa.Store:
			value, isConst := use.Val.(*ssa.Const)
			if use.Addr != addr || !isConst || on.to != nil || !onEveryWay(use.Block()) {
				return on, false
			}
			on.to = value
		default:
			return on, false
		}
	}
	return on, true
}

// onEveryWay reports whether a function never returns without running a block.
func onEveryWay(runs *ssa.BasicBlock) bool {
	for _, b := range runs.Parent().Blocks {
		if _, leaves := b.Instrs[len(b.Instrs)-1].(*ssa.Return); leaves && !runs.Dominates(b) {
			return false
		}
	}
	return true
}

// calleeOf is the function of the program that a call runs, nil for literals and for what is not in sight.
func calleeOf(call *ssa.Call) *ssa.Function {
	fn := call.Call.StaticCallee()
	if fn == nil || len(fn.Blocks) == 0 || len(fn.FreeVars) > 0 || len(fn.Params) != len(call.Call.Args) {
		return nil
	}
	return fn
}

// effectsThrough are the effects of a call on what an address leads to that is an argument:
//
//	func set(flag *bool) { *flag = true }
func effectsThrough(call *ssa.Call, addr ssa.Value) (effects []effect, known bool) {
	fn := calleeOf(call)
	if fn == nil {
		return nil, false
	}
	for i, a := range call.Call.Args {
		if a != addr {
			continue
		}
		if len(effects) > 0 {
			return nil, false
		}
		if effects, known = effectsOn(fn.Params[i]); !known {
			return nil, false
		}
	}
	return effects, true
}

// onlyReads reports whether a function calls no others, and changes nothing.
func onlyReads(fn *ssa.Function) bool {
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			switch instr := instr.(type) {
			case *ssa.Call:
				if !isLen(instr) {
					return false
				}
			case *ssa.Store:
				if _, own := instr.Addr.(*ssa.Alloc); !own {
					return false
				}
			case *ssa.Go, *ssa.Defer, *ssa.Send, *ssa.MapUpdate, *ssa.Select, *ssa.MakeClosure:
				return false
			}
		}
	}
	return true
}

// setThrough records what a call does with the variables and structs whose addresses it is given.
func (f *follower) setThrough(call *ssa.Call, s *pathState) {
	fn := calleeOf(call)
	if fn == nil {
		return
	}
	f.unanswerThrough(call, s)
	type set struct {
		at route
		on effect
	}
	var sets []set
	for _, a := range call.Call.Args {
		if _, isPointer := a.Type().Underlying().(*types.Pointer); !isPointer {
			continue
		}
		effects, _ := effectsThrough(call, a)
		r, ok := routeTo(a, 0)
		for _, on := range effects {
			switch {
			case !on.sets():
			case !ok:
				f.overwritten(a, s)
			case on.field < 0:
				sets = append(sets, set{r, on})
			default:
				sets = append(sets, set{r.to(hop{in: on.in, index: on.field}), on})
			}
		}
	}
	for _, w := range sets {
		f.unanswerAt(w.at, s)
		f.losePartsOf(w.at, s)
		for _, p := range f.places.open {
			if p.mayBeAt(w.on.at) {
				f.lose(p, s)
			}
		}
	}
	for i, w := range sets {
		if slices.ContainsFunc(slices.Concat(sets[:i], sets[i+1:]), func(other set) bool {
			return w.at.leadsThrough(other.at) || other.at.leadsThrough(w.at)
		}) {
			f.loseAt(w.at, s) // set twice, in an order that is not looked at
			continue
		}
		f.setAt(w.at, w.on.to, len(call.Call.Args) == 1, s)
	}
}

// setAt assigns a constant to what a route leads to. sole is true where no other address is known to the one who does so.
func (f *follower) setAt(r route, to *ssa.Const, sole bool, s *pathState) {
	cell := f.places.at(r)
	if cell == nil || !f.isAtHome(cell) {
		return
	}
	if p, ok := cell.(*place); ok && p.open && !sole {
		f.lose(p, s) // another argument may lead there, too
		return
	}
	f.assign(cell, s.of(to), s)
	f.put(cell, constContent(to), s)
}

// unanswerThrough forgets the answers to conditions that ask about what a function of the program sets in what it is
// given the address of.
func (f *follower) unanswerThrough(call *ssa.Call, s *pathState) {
	if len(s.conds) == 0 {
		return
	}
	for _, w := range f.li.writesOf(calleeOf(call)) {
		if r, ok := routeTo(call.Call.Args[w.param], 0); ok {
			f.unanswerAt(route{r.root, slices.Concat(r.steps, w.steps)}, s)
		}
	}
}

// A write is a store of a function to what a parameter leads to.
type write struct {
	param int
	steps []hop
}

// writesOf are those of a function itself, not of what it calls.
func (li *Info) writesOf(fn *ssa.Function) []write {
	found, known := li.writes[fn]
	if known {
		return found
	}
	ssax.EachInstr(fn, func(instr ssa.Instruction) {
		st, ok := instr.(*ssa.Store)
		if !ok {
			return
		}
		if r, ok := routeTo(st.Addr, 0); ok {
			for i, p := range fn.Params {
				if r.root == ssa.Value(p) {
					found = append(found, write{i, r.steps})
				}
			}
		}
	})
	li.writes[fn] = found
	return found
}

// at is the variable or place that a route leads to, nil if it is not followed.
func (found *places) at(r route) ssa.Value {
	if p := found.byKey[r.key()]; p != nil {
		return p
	}
	if made, ok := r.root.(*ssa.Alloc); ok && len(r.steps) == 0 {
		return made
	}
	return nil
}

// reached is the variable or place that a function has an effect on that is given an address, nil if it is not followed.
func (found *places) reached(addr ssa.Value, on effect) ssa.Value {
	if on.field < 0 {
		return found.variable(addr)
	}
	r, ok := routeTo(addr, 0)
	if !ok {
		return nil
	}
	if p := found.byKey[r.to(hop{in: on.in, index: on.field}).key()]; p != nil {
		return p
	}
	return nil
}
