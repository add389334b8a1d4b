package leases

import (
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file follows whether a variable is nil that a deferred literal asks for the outcome of the function:
//
//	func open(…) (s *Session, err error) {
//		…
//		defer func() {
//			if err != nil { // or s == nil
//				lease.Release(ctx)
//			}
//		}()
//
// What other variables hold decides nothing here, and would only multiply the states.

// askedLater reports whether a function literal compares a variable of the function around it with nil.
func (f *follower) askedLater(cell ssa.Value) bool {
	asked, known := f.asked[cell]
	if known {
		return asked
	}
	home := homeOf(cell)
	eachUse(cell, func(instr ssa.Instruction, _ ssa.Value) bool {
		load, ok := instr.(*ssa.UnOp)
		asked = asked || ok && load.Parent() != home && slices.ContainsFunc(*load.Referrers(), isNilTest)
		return true
	})
	if f.asked == nil {
		f.asked = map[ssa.Value]bool{}
	}
	f.asked[cell] = asked
	if p, ok := cell.(*place); ok && !asked {
		asked = slices.ContainsFunc(p.into, func(to *place) bool { return f.askedLater(to) })
		f.asked[cell] = asked
	}
	return asked
}

func isNilTest(instr ssa.Instruction) bool {
	b, ok := instr.(*ssa.BinOp)
	return ok && (b.Op == token.EQL || b.Op == token.NEQ) && (ssax.IsNilConst(b.X) || ssax.IsNilConst(b.Y))
}

// mayBeNil reports whether a variable of a type can be compared with nil.
func mayBeNil(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Interface, *types.Map, *types.Slice, *types.Chan, *types.Signature:
		return true
	}
	return false
}

// nilness says whether a value that is put into a variable is nil: because of what it is, or of the tests behind which
// that happens.
func nilness(v ssa.Value, s *pathState, at *ssa.BasicBlock) abstract {
	if a := s.of(v); a == isNil || a == notNil {
		return a
	}
	switch made := v.(type) {
	case *ssa.Alloc, *ssa.MakeMap, *ssa.MakeChan, *ssa.MakeSlice, *ssa.MakeClosure, *ssa.Function,
		*ssa.MakeInterface:
		return notNil
	case *ssa.Call:
		if ssax.IsError(made.Type()) && wrapsError(&made.Call, s, at) || fromClock(&made.Call) {
			return notNil
		}
	}
	if ssax.IsError(v.Type()) && ssax.IsNewError(v) {
		return notNil
	}
	return behindTest(v, at)
}

// fromClock reports whether a call yields the time, which is not the zero time.
func fromClock(c *ssa.CallCommon) bool {
	fn := c.StaticCallee()
	return fn != nil && ssax.CalleeName(fn) == "time.Now"
}

// wrapsError reports whether a call is given an error that is certainly there, and returns one then.
func wrapsError(c *ssa.CallCommon, s *pathState, at *ssa.BasicBlock) bool {
	fn := c.StaticCallee()
	if fn == nil {
		return false
	}
	if ssax.CalleeName(fn) == "errors.Join" {
		list, _ := ssax.Variadic(c.Args[0])
		return slices.ContainsFunc(list, func(v ssa.Value) bool { return nilness(v, s, at) == notNil })
	}
	for i, arg := range c.Args {
		if ssax.IsError(arg.Type()) && nilness(arg, s, at) == notNil {
			if len(fn.Blocks) == 0 { // only its name says what it does, as multierr's or client.IgnoreNotFound's does
				return !strings.Contains(strings.ToLower(fn.Name()), "ignore")
			}
			return keepsError(fn, fn.Params[i])
		}
	}
	return false
}

// keepsError reports whether a function says nil only where it has been given no error.
func keepsError(fn *ssa.Function, err *ssa.Parameter) bool {
	for _, b := range fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if ok && b != fn.Recover && ssax.IsNilConst(ssax.Returned(ret, 0)) && behindTest(err, b) != isNil {
			return false
		}
	}
	return true
}

// behindTest says whether a value is nil in a block, because of the tests that lead to it.
func behindTest(v ssa.Value, at *ssa.BasicBlock) abstract {
	for b := at; b.Idom() != nil; b = b.Idom() {
		from := b.Idom()
		test, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
		if !ok || len(b.Preds) != 1 || from.Succs[0] == from.Succs[1] {
			continue
		}
		if values, a := found(test.Cond, from.Succs[0] == b); slices.Contains(values, v) {
			return a
		}
	}
	return unknown
}

// found lists the values that are nil, or not nil, where a condition has an outcome.
func found(cond ssa.Value, outcome bool) ([]ssa.Value, abstract) {
	switch c := cond.(type) {
	case *ssa.UnOp:
		if c.Op == token.NOT {
			return found(c.X, !outcome)
		}
	case *ssa.BinOp:
		if c.Op != token.EQL && c.Op != token.NEQ {
			break
		}
		same := outcome == (c.Op == token.EQL)
		switch {
		case isNilTest(c) && same:
			return []ssa.Value{c.X, c.Y}, isNil
		case isNilTest(c):
			return []ssa.Value{c.X, c.Y}, notNil
		case same && ssax.IsError(c.X.Type()) && (ssax.IsNewError(c.X) || ssax.IsNewError(c.Y)):
			return []ssa.Value{c.X, c.Y}, notNil // err == ErrBusy
		}
	case *ssa.Call:
		if outcome { // as isErrorTest has it
			return slices.DeleteFunc(slices.Clone(c.Call.Args), func(v ssa.Value) bool {
				return !ssax.IsError(v.Type())
			}), notNil
		}
	}
	return nil, unknown
}

// notice records what a condition says of the variables that a literal asks later, and of a flag that is asked again.
func (f *follower) notice(s *pathState, cond ssa.Value, outcome bool) {
	if load, ok := cond.(*ssa.UnOp); ok && load.Op == token.MUL {
		cell := f.places.variable(load.X)
		if cell != nil && s.known[cell] == unknown && f.isAskedTwice(cell) && f.decidesOn(cond, load, cell) {
			f.assign(cell, truth(outcome), s)
		}
	}
	values, a := found(cond, outcome)
	for _, v := range values {
		load, ok := v.(*ssa.UnOp)
		if !ok || load.Op != token.MUL {
			continue
		}
		cell := f.places.variable(load.X)
		if cell != nil && s.known[cell] == unknown && f.askedLater(cell) && !f.li.changesOutside(cell) && f.decidesOn(cond, load, cell) {
			s.set(cell, a)
		}
	}
}

// isAskedTwice reports whether a variable is read in several places.
func (f *follower) isAskedTwice(cell ssa.Value) bool {
	twice, known := f.twice[cell]
	if known {
		return twice
	}
	n := 0
	eachUse(cell, func(instr ssa.Instruction, _ ssa.Value) bool {
		if load, ok := instr.(*ssa.UnOp); ok && load.Op == token.MUL {
			n++
		}
		return true
	})
	if f.twice == nil {
		f.twice = map[ssa.Value]bool{}
	}
	f.twice[cell] = n > 1
	return n > 1
}

// decidesOn reports whether a block ends with a condition on what it has read from a variable, which has not changed
// in between.
func (f *follower) decidesOn(cond ssa.Value, load *ssa.UnOp, cell ssa.Value) bool {
	instrs := load.Block().Instrs
	test, ok := instrs[len(instrs)-1].(*ssa.If)
	if !ok || !isOrNegates(test.Cond, cond) {
		return false
	}
	for _, instr := range instrs[slices.Index(instrs, ssa.Instruction(load)):] {
		switch instr := instr.(type) {
		case *ssa.Store:
			if p, ok := cell.(*place); ok && p.mayChange(instr.Addr, f.places) || ssax.CellOf(instr.Addr) == cell {
				return false
			}
		case *ssa.Call:
			if ssa.Value(instr) != cond {
				return false
			}
		}
	}
	return true
}

func isOrNegates(v, cond ssa.Value) bool {
	not, ok := v.(*ssa.UnOp)
	return v == cond || ok && not.Op == token.NOT && isOrNegates(not.X, cond)
}

// flag says what a comparison yields that is kept in a variable, as in locked := err == nil.
func (f *follower) flag(b *ssa.BinOp, s *pathState) abstract {
	if !slices.ContainsFunc(*b.Referrers(), isKept) {
		return unknown
	}
	x, ok := comparedWithNil(s, b)
	if !ok || !isNilTest(b) {
		return outcomeOf(b, s)
	}
	got, lost := theFlag, theFailure // of x == nil, and of x != nil
	switch s.of(x) {
	case theError:
		if f.site != nil && f.site.Both {
			return unknown
		}
	case theLease, theFlag:
		if f.site != nil && f.site.Recv != nil && s.of(x) == theLease {
			return unknown // there is a mutex, locked or not
		}
		got, lost = lost, got
	case isNil:
		got, lost = isTrue, isFalse
	case notNil:
		got, lost = isFalse, isTrue
	default:
		return unknown
	}
	if b.Op == token.EQL {
		return got
	}
	return lost
}

// isKept reports whether an instruction does more with a value than branch on it.
func isKept(instr ssa.Instruction) bool {
	switch instr := instr.(type) {
	case *ssa.Store, *ssa.Phi:
		return true
	case *ssa.UnOp:
		return slices.ContainsFunc(*instr.Referrers(), isKept)
	}
	return false
}
