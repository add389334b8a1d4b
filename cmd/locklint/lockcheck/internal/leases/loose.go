package leases

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Goroutines, callbacks and whoever else has got hold of a variable may change it at any time from then on:
//
//	busy := m.LockContext(ctx) != nil
//	go func() { busy = false; close(done) }()
//	<-done
//
// Constants are never followed in such a variable, see assign. The outcome of the acquire is, until other code runs.

// A loose variable is one that other code may change. gone are the instructions that put it into other hands.
type loose struct {
	cell *ssa.Alloc
	gone []ssa.Instruction
	from map[*ssa.BasicBlock]bool // the blocks behind those
}

// looseIn finds those of a function and the literals in it.
func (li *Info) looseIn(fn *ssa.Function) []*loose {
	fn = ssax.Outermost(fn)
	found, known := li.loose[fn]
	if known {
		return found
	}
	ssax.EachInstr(fn, func(instr ssa.Instruction) {
		if cell, ok := instr.(*ssa.Alloc); ok && li.keepsState(ssax.Elem(cell.Type())) && li.changesOutside(cell) {
			l := &loose{cell: cell, from: map[*ssa.BasicBlock]bool{}}
			l.find(cell)
			for _, instr := range l.gone {
				reachOn(instr.Block().Succs, l.from)
			}
			found = append(found, l)
		}
	})
	li.loose[fn] = found
	return found
}

// find looks for what gives an address away, also in literals.
func (l *loose) find(addr ssa.Value) {
	for _, use := range *addr.Referrers() {
		if !givesAway(use, addr, false) {
			continue
		}
		mc, ok := use.(*ssa.MakeClosure)
		if !ok || !runsHere(mc) {
			l.gone = append(l.gone, use)
			continue
		}
		for i, b := range mc.Bindings {
			if b == addr {
				l.find(mc.Fn.(*ssa.Function).FreeVars[i])
			}
		}
	}
}

// isGone reports whether a variable may be in other hands when an instruction runs. To be deferred is no reason before
// the function ends, which is when the deferred call itself is looked at.
func (l *loose) isGone(at ssa.Instruction) bool {
	return slices.ContainsFunc(l.gone, func(gone ssa.Instruction) bool {
		if _, deferred := gone.(*ssa.Defer); deferred {
			return gone == at
		}
		return gone == at || gone.Parent() != at.Parent() || l.from[at.Block()] || gone.Block() == at.Block() && isEarlier(gone, at)
	})
}

// isEarlier reports whether an instruction stands before another in a block.
func isEarlier(first, second ssa.Instruction) bool {
	instrs := first.Block().Instrs
	return slices.Index(instrs, first) < slices.Index(instrs, second)
}

// mayFollow reports whether an instruction may run after another.
func mayFollow(second, first ssa.Instruction) bool {
	if first.Parent() != second.Parent() || first.Block() == second.Block() && isEarlier(first, second) {
		return true
	}
	behind := map[*ssa.BasicBlock]bool{}
	reachOn(first.Block().Succs, behind)
	return behind[second.Block()]
}

func reachOn(from []*ssa.BasicBlock, seen map[*ssa.BasicBlock]bool) {
	for _, b := range from {
		if !seen[b] {
			seen[b] = true
			reachOn(b.Succs, seen)
		}
	}
}

// loseLoose forgets what the variables hold that are in other hands when an instruction runs that takes its time.
func (f *follower) loseLoose(at ssa.Instruction, s *pathState) {
	for _, l := range f.li.looseIn(f.fn) {
		if was := s.known[l.cell]; was != unknown && was != theLease && l.isGone(at) {
			s.set(l.cell, unknown)
		}
	}
}

// overwrittenLoose forgets the variables that a store changes by an address that may be theirs.
func (f *follower) overwrittenLoose(addr ssa.Value, s *pathState) {
	base := baseOf(addr)
	switch base.(type) {
	case *ssa.Alloc, *ssa.Global:
		return
	}
	for _, l := range f.li.looseIn(f.fn) {
		if s.known[l.cell] == theLease {
			continue
		}
		if isCast(base) || base == addr && types.Identical(ssax.Elem(addr.Type()).Underlying(), ssax.Elem(l.cell.Type()).Underlying()) {
			s.set(l.cell, unknown)
		}
	}
}

// baseOf is the address of the variable of which an address is that of a part.
func baseOf(addr ssa.Value) ssa.Value {
	for {
		switch part := ssax.CellOf(addr).(type) {
		case *ssa.FieldAddr:
			addr = part.X
		case *ssa.IndexAddr:
			addr = part.X
		default:
			return part
		}
	}
}

// isCast reports whether an address was something else before, see package unsafe.
func isCast(addr ssa.Value) bool {
	_, ok := addr.(*ssa.Convert)
	return ok
}

// runsAlongside reports whether a function starts goroutines, or puts functions into other hands, which may run whenever
// the function waits for something.
func (li *Info) runsAlongside(fn *ssa.Function) bool {
	fn = ssax.Outermost(fn)
	runs, known := li.alongside[fn]
	if known {
		return runs
	}
	ssax.EachInstr(fn, func(instr ssa.Instruction) { runs = runs || handsOnFunction(instr) })
	li.alongside[fn] = runs
	return runs
}

func handsOnFunction(instr ssa.Instruction) bool {
	if _, ok := instr.(*ssa.Go); ok {
		return true
	}
	var operands []*ssa.Value
	switch instr := instr.(type) {
	case *ssa.DebugRef:
	case ssa.CallInstruction:
		for i := range instr.Common().Args {
			operands = append(operands, &instr.Common().Args[i])
		}
	case *ssa.MakeClosure:
	default:
		operands = instr.Operands(nil)
	}
	return slices.ContainsFunc(operands, func(op *ssa.Value) bool {
		switch (*op).(type) {
		case *ssa.MakeClosure, *ssa.Function:
			return true
		}
		return false
	})
}

// runsOwn reports whether a call of a package that is known for what it does runs a method of the program: it shows, or
// reads into, what is given by its address.
func runsOwn(call ssa.CallInstruction) bool {
	for _, a := range call.Common().Args {
		given := []ssa.Value{a}
		if list, ok := ssax.Variadic(a); ok {
			given = append(given, list...)
		}
		if slices.ContainsFunc(given, isOwnBehindInterface) {
			return true
		}
	}
	return false
}

func isOwnBehindInterface(v ssa.Value) bool {
	made, ok := v.(*ssa.MakeInterface)
	if !ok {
		return false
	}
	p, ok := made.X.Type().(*types.Pointer)
	if !ok {
		return false
	}
	named, ok := types.Unalias(p.Elem()).(*types.Named)
	return !ok || named.NumMethods() > 0
}
