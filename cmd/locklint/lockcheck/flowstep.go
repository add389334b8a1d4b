package lockcheck

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// step runs one instruction. What it does not know how to follow makes the lease escape, never leak.
func (f *follower) step(v *visit, instr ssa.Instruction, s pathState) []pathState {
	f.record(instr, &s)
	switch instr := instr.(type) {
	case *ssa.Call:
		return f.call(v, instr, s)
	case *ssa.Defer:
		f.deferred(instr, &s)
	case *ssa.Go:
		if slices.ContainsFunc(instr.Call.Args, func(a ssa.Value) bool { return s.of(a) == theLease }) {
			s.lease = escaped
		}
	case *ssa.RunDefers:
		return f.runDefers(s)
	case *ssa.Extract:
		s.set(instr, f.extracted(instr))
		f.made(instr, &s)
	case *ssa.Alloc:
		f.assign(instr, zero(elem(instr.Type())), &s)
	case *ssa.Store:
		f.store(instr, &s)
	case *ssa.UnOp:
		if instr.Op == token.ARROW && isDone(&s, instr.X) && (s.lease == held || s.lease == unchecked) {
			s.lease, s.over = released, true
		}
		s.set(instr, f.loaded(instr, &s))
	case *ssa.ChangeType:
		s.set(instr, s.of(instr.X))
	case *ssa.ChangeInterface:
		s.set(instr, s.of(instr.X))
	case *ssa.MakeInterface:
		s.set(instr, s.of(instr.X))
	case *ssa.Phi, *ssa.BinOp, *ssa.If, *ssa.Jump, *ssa.Panic, *ssa.DebugRef:
	case *ssa.MakeClosure:
		f.other(instr, &s)
		f.makes(instr, &s)
	case *ssa.TypeAssert:
		f.other(instr, &s)
		if s.of(instr.X) == theError {
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
	switch instr.(type) {
	case *ssa.Call, *ssa.Go, *ssa.Defer:
	default:
		return
	}
	switch {
	case f.ending > 0:
	case s.holding():
		f.flow.inside[instr] = true
	case s.verdict == refused && s.lease != escaped:
		f.flow.outside[instr] = true
	}
}

// made notes the birth of the object that is locked later.
func (f *follower) made(v ssa.Value, s *pathState) {
	if f.site != nil && f.site.made == v {
		s.set(v, theLease)
	}
}

// other is any instruction that puts the lease out of sight.
func (f *follower) other(instr ssa.Instruction, s *pathState) {
	for _, op := range instr.Operands(nil) {
		if *op != nil && s.of(*op) == theLease {
			s.lease = escaped
		}
	}
}

// extracted says what one result of the acquire is.
func (f *follower) extracted(ex *ssa.Extract) abstract {
	if f.site == nil || ex.Tuple != ssa.Value(f.site.call) {
		return unknown
	}
	switch ex.Index {
	case f.site.lease:
		return theLease
	case f.site.err:
		return theError
	case f.site.ok:
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
		return s.known[cellOf(op.X)]
	case token.NOT:
		switch s.of(op.X) {
		case isTrue:
			return isFalse
		case isFalse:
			return isTrue
		}
	}
	return unknown
}

// store assigns to a variable of the function, or puts the lease somewhere else.
func (f *follower) store(st *ssa.Store, s *pathState) {
	what := s.of(st.Val)
	cell, isVar := cellOf(st.Addr).(*ssa.Alloc)
	if !isVar || !within(cell.Parent(), f.fn) {
		if what == theLease {
			s.lease = escaped
		}
		return
	}
	if what == theLease && f.leaksNow(cell, s) {
		s.lease = escaped
	}
	f.assign(cell, what, s)
}

// assign records the content of a variable. Of one that unseen code may change, a constant says nothing for long; the
// acquire's results do, because who checks them does so before anything else.
func (f *follower) assign(cell *ssa.Alloc, what abstract, s *pathState) {
	what = worthKnowing(what, elem(cell.Type()))
	if what >= isNil && f.leaks(cell) {
		what = unknown
	}
	s.set(cell, what)
}

// zero is what a variable holds when it is declared.
func zero(t types.Type) abstract {
	switch {
	case isBool(t):
		return isFalse
	case isError(t) || isHandle(t):
		return isNil
	}
	return unknown
}

// within reports whether a function is another or a literal in it.
func within(fn, outer *ssa.Function) bool {
	for ; fn != nil; fn = fn.Parent() {
		if fn == outer {
			return true
		}
	}
	return false
}

// elem is the type that a pointer points to.
func elem(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}
