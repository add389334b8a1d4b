package leases

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/program"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// step runs one instruction. What it does not know how to follow makes the lease escape, never leak.
func (f *follower) step(v *visit, instr ssa.Instruction, s pathState) []pathState {
	f.record(instr, &s)
	if v, ok := instr.(ssa.Value); ok {
		f.renewed(v, &s)
	}
	switch instr := instr.(type) {
	case *ssa.Call:
		if instr.Call.IsInvoke() && program.EndsByName(instr.Call.Method) {
			return nil // the interface of a logger: SSA form has no end here
		}
		return f.call(v, instr, s)
	case *ssa.Defer:
		f.deferred(instr, &s)
	case *ssa.Go:
		f.othersRun(&s)
		f.loseLoose(instr, &s)
		if s.of(instr.Call.Value) == theLease ||
			slices.ContainsFunc(instr.Call.Args, func(a ssa.Value) bool { return s.of(a) == theLease }) {
			s.Lease = escaped
		}
	case *ssa.RunDefers:
		return f.runDefers(s)
	case *ssa.Extract:
		if s.set(instr, f.extracted(instr, &s)); s.of(instr) == unknown {
			s.set(instr, f.finds(&s, instr))
		}
		f.made(instr, &s)
	case *ssa.Alloc:
		if s.known[instr] == theLease {
			s.another(instr)
		}
		f.assign(instr, f.zero(instr), &s)
		f.put(instr, zeroContent(ssax.Elem(instr.Type())), &s)
		f.born(instr, &s)
		f.made(instr, &s)
		for _, flag := range f.li.atomicsIn(f.fn).byRoot[instr] {
			s.set(flag, isFalse)
		}
	case *ssa.Store:
		f.store(instr, &s)
		f.setAtomic(instr, &s)
	case *ssa.UnOp:
		if instr.Op == token.ARROW {
			f.othersRun(&s) // a goroutine has come that far
			f.loseLoose(instr, &s)
		}
		if instr.Op == token.ARROW && isDone(&s, instr.X) && (s.Lease == held || s.Lease == unchecked) {
			s.Lease, s.over = released, true
		}
		s.set(instr, f.loaded(instr, &s))
		if s.of(instr) == unknown && ssax.IsBool(instr.Type()) {
			s.set(instr, f.objectSays(instr, &s).abstract())
		}
		f.read(instr, &s)
	case *ssa.Select:
		f.othersRun(&s)
		f.loseLoose(instr, &s)
		f.other(instr, &s)
	case *ssa.ChangeType:
		s.set(instr, s.of(instr.X))
	case *ssa.ChangeInterface:
		s.set(instr, s.of(instr.X))
	case *ssa.MakeInterface:
		s.set(instr, s.of(instr.X))
	case *ssa.BinOp:
		s.set(instr, f.flag(instr, &s))
	case *ssa.Phi, *ssa.If, *ssa.Jump, *ssa.Panic, *ssa.DebugRef:
	case *ssa.FieldAddr:
		if s.of(instr.X) == theLease && (holds(instr.X.Type()) || s.wrapped != nil && s.Lease == Absent && f.li.setsFresh(instr)) {
			break
		}
		if f.li.libraryOf(ssax.Elem(instr.Type())) != clients.None || !f.li.isOwn(instr.X.Type()) {
			f.other(instr, &s)
		}
	case *ssa.Field:
		if f.other(instr, &s); f.site != nil && f.site.isMutex(instr) {
			s.set(instr, theLease)
		}
	case *ssa.MakeClosure:
		if f.site != nil && f.site.tries == instr {
			break
		}
		if f.li.bindsRelease(instr) && s.of(instr.Bindings[0]) == theLease {
			s.set(instr, theLease)
			break
		}
		if _, _, bound := ssax.BoundMethod(instr); bound && ssax.OnlyCalled(instr) {
			break // its calls are those of the method
		}
		if s.wrapped == nil || !runsHere(instr) || !slices.Contains(instr.Bindings, s.wrapped) {
			f.other(instr, &s)
		}
		f.makes(instr, &s)
	case *ssa.TypeAssert:
		if isNilCheck(instr) {
			break
		}
		f.other(instr, &s)
		if s.of(instr.X) == theError && !instr.CommaOk {
			s.consulted = true
		}
	default:
		f.other(instr, &s)
	}
	return []pathState{s}
}

// record notes what runs with the lease, and what runs without it because the acquire failed. Deferred literals run
// when all is over, whatever the outcome, and say nothing.
func (f *follower) record(instr ssa.Instruction, s *pathState) {
	switch instr := instr.(type) {
	case *ssa.Call:
		if f.answered(instr, s) != unknown {
			return // asks what the path knows
		}
	case *ssa.Go, *ssa.Defer:
	default:
		return
	}
	switch {
	case f.ending > 0:
	case s.holding():
		f.flow.Inside[instr] = true
	case s.isRefused():
		f.flow.Outside[instr] = true
	case s.open():
		f.flow.Unasked[instr] = true
	}
}

// made notes the birth of the object that is locked later.
func (f *follower) made(v ssa.Value, s *pathState) {
	if f.site != nil && f.site.made == v {
		s.another(v)
		s.setObject(v)
	}
}

// other is any instruction that puts the lease out of sight.
func (f *follower) other(instr ssa.Instruction, s *pathState) {
	for _, op := range instr.Operands(nil) {
		if *op != nil && s.of(*op) == theLease {
			s.Lease = escaped
		}
	}
}

// extracted says what one result of the acquire is, or of a call that asks whether there still is a lock.
func (f *follower) extracted(ex *ssa.Extract, s *pathState) abstract {
	if f.site == nil || ex.Tuple != ssa.Value(f.site.Call) {
		if call, ok := ex.Tuple.(*ssa.Call); ok && ssax.IsBool(ex.Type()) && f.asksIfHeld(s, call) {
			return stillHeld
		}
		return unknown
	}
	switch ex.Index {
	case f.site.Lease:
		return theLease
	case f.site.Err:
		return theError
	case f.site.OK:
		if f.site.Busy {
			return theFailure
		}
		return theFlag
	}
	return unknown
}

// loaded says what a unary operation yields: the content of a variable, or a negated flag.
func (f *follower) loaded(op *ssa.UnOp, s *pathState) abstract {
	switch op.Op {
	case token.MUL:
		if f.site != nil && f.site.isMutex(op) {
			return theLease
		}
		if s.wrapped != nil && (ssax.CellOf(op.X) == s.wrapped || s.of(op.X) == theLease && isStruct(op.Type())) {
			return theLease
		}
		if holder := holderOf(op); holder != nil && s.of(holder) == theLease {
			return theLease
		}
		if p, ok := f.places.variable(op.X).(*place); ok {
			return s.known[p] // what it holds may be from before it is set
		}
		if set := ssax.FieldValue(op); set != nil {
			return s.of(set)
		}
		return s.known[ssax.CellOf(op.X)]
	case token.NOT:
		return s.of(op.X).negated()
	}
	return unknown
}

// store assigns to a variable of the function, or puts the lease somewhere else.
func (f *follower) store(st *ssa.Store, s *pathState) {
	what, parts := s.of(st.Val), f.partsOf(st, s)
	if what == theLease && s.wrapped != nil && isStruct(st.Val.Type()) {
		s.Lease = escaped // a copy may be released
	}
	f.overwritten(st.Addr, s)
	f.setParts(st, parts, s)
	f.unanswer(st.Addr, s)
	cell := f.places.variable(st.Addr)
	if cell == nil || !f.isAtHome(cell) {
		if what == theLease {
			field, isField := st.Addr.(*ssa.FieldAddr)
			if own := f.wrapping(st); own != nil && st.Val != s.wrapped {
				s.wrapped = own
			} else if !isField || ssax.SetOnce(field) != st.Val { // see loaded
				s.Lease = escaped
			}
		}
		return
	}
	if what == theLease && f.leaksNow(cell, s) {
		s.Lease = escaped
	}
	if what == unknown && (f.askedLater(cell) || f.followsNil(cell)) {
		what = nilness(st.Val, s, st.Block())
	}
	f.assign(cell, what, s)
	f.put(cell, s.content(st.Val, 0), s)
}

// wrapping is the struct, made in this function, that a store puts a lock into, if it has a method that releases it.
func (f *follower) wrapping(st *ssa.Store) ssa.Value {
	field, ok := st.Addr.(*ssa.FieldAddr)
	if !ok {
		return nil
	}
	own, ok := field.X.(*ssa.Alloc)
	if !ok || own.Parent() != f.fn || f.li.libraryOf(own.Type()) == clients.None {
		return nil
	}
	return own
}

// assign records the content of a variable. Of one that unseen code may change, a constant says nothing for long; the
// acquire's results do, because who checks them does so before anything else.
func (f *follower) assign(cell ssa.Value, what abstract, s *pathState) {
	if what != isNil && what != notNil || !f.askedLater(cell) && !f.followsNil(cell) {
		what = f.worthKnowing(what, ssax.Elem(cell.Type()))
	}
	if what >= isNil && (f.li.changesOutside(cell) || !f.bearing.has(cell)) {
		what = unknown
	}
	s.set(cell, what)
}

// zero is what a variable holds when it is declared.
func (f *follower) zero(cell ssa.Value) abstract {
	switch t := ssax.Elem(cell.Type()); {
	case ssax.IsBool(t):
		return isFalse
	case mayBeNil(t) || f.followsNil(cell) || f.li.libraryOf(t) != clients.None:
		return isNil
	}
	return unknown
}
