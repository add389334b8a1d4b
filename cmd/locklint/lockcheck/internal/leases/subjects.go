package leases

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file finds the variables whose content decides branches. Only those are followed: what others hold would only
// multiply the states.

// subjects are the phis, the variables in memory and the lists among the parameters that conditions compare with constants, and what flows into them.
type subjects map[ssa.Value]subject

// A subject is what conditions ask of a value.
type subject struct {
	marks []int64 // in ascending order, the numbers at which a comparison with them changes its outcome
	bits  int64   // those that are asked for, all where the number is asked for as a whole
}

const allBits = -1

// subjectsIn finds those of a function and of the literals in it, with which it shares its variables.
func (li *Info) subjectsIn(fn *ssa.Function) subjects {
	fn = ssax.Outermost(fn)
	if found, ok := li.subjects[fn]; ok {
		return found
	}
	g := gatheredSubjects{subjects{}, li.placesIn(fn)}
	g.gather(fn)
	g.gatherWhole(fn)
	for _, s := range g.subjects {
		slices.Sort(s.marks)
	}
	li.subjects[fn] = g.subjects
	return g.subjects
}

// gatheredSubjects collects subjects.
type gatheredSubjects struct {
	subjects
	places *places
}

func (found gatheredSubjects) gather(fn *ssa.Function) {
	ssax.EachInstr(fn, func(instr ssa.Instruction) {
		switch instr := instr.(type) {
		case *ssa.BinOp:
			if holdsFor(instr.Op) == 0 {
				return
			}
			if c, ok := instr.Y.(*ssa.Const); ok {
				found.compared(instr.X, c)
			}
			if c, ok := instr.X.(*ssa.Const); ok {
				found.compared(instr.Y, c)
			}
		case *ssa.Call:
			if asksZero(instr) {
				found.add(instr.Call.Args[0], subject{bits: allBits}, map[ssa.Value]bool{})
			} else {
				found.asksThrough(instr)
			}
		}
	})
}

// gatherWhole looks for what asks subjects as a whole and is no comparison with a constant: one with another value, and
// what depends on a number in any other way that is followed.
func (found gatheredSubjects) gatherWhole(fn *ssa.Function) {
	seen := map[ssa.Value]bool{}
	ssax.EachInstr(fn, func(instr ssa.Instruction) {
		switch instr := instr.(type) {
		case *ssa.BinOp:
			_, isConst := instr.Y.(*ssa.Const)
			if _, alsoConst := instr.X.(*ssa.Const); holdsFor(instr.Op) != 0 && !isConst && !alsoConst {
				found.add(instr.X, subject{bits: allBits}, seen)
				found.add(instr.Y, subject{bits: allBits}, seen)
			}
		case *ssa.MakeSlice:
			found.add(instr.Len, subject{bits: allBits}, seen)
		}
	})
}

// compared adds a value that is compared with a constant, all of it or some bits.
func (found gatheredSubjects) compared(v ssa.Value, c *ssa.Const) {
	asked := subject{bits: allBits}
	if n, ok := constNumber(c); ok {
		asked.marks = []int64{plus(n, -1), n, plus(n, 1)}
	}
	if of, ok := v.(*ssa.BinOp); ok && of.Op == token.AND {
		if mask, ok := constNumber(of.Y); ok && mask > 0 {
			v, asked.bits = of.X, mask
		}
	}
	found.add(v, asked, map[ssa.Value]bool{})
}

// add adds a value and what it is made of, unless that was seen.
func (found gatheredSubjects) add(v ssa.Value, asked subject, seen map[ssa.Value]bool) {
	if seen[v] {
		return
	}
	seen[v] = true
	switch v := v.(type) {
	case *ssa.Phi:
		if found.note(v, asked) {
			for _, e := range v.Edges {
				found.add(e, asked, seen)
			}
		}
	case *ssa.BinOp:
		if !worksOnBits(v) {
			asked.bits = allBits
		}
		found.add(v.X, asked, seen)
		found.add(v.Y, asked, seen)
	case *ssa.Convert:
		asked.bits = allBits
		found.add(v.X, asked, seen)
	case *ssa.ChangeType:
		found.add(v.X, asked, seen)
	case *ssa.Call:
		asked.bits = allBits
		if list, _, ok := ssax.Appended(v); ok {
			found.add(list, asked, seen)
		} else if isLen(v) {
			found.add(v.Call.Args[0], asked, seen)
		}
	case *ssa.Parameter:
		if isList(v.Type()) {
			found.note(v, asked)
		}
	case *ssa.UnOp:
		if v.Op != token.MUL {
			return
		}
		if cell := found.places.variable(v.X); cell != nil && found.note(v, asked) {
			found.addVariable(cell, asked, seen)
		}
	}
}

// addVariable adds a variable or place, and what is put into it.
func (found gatheredSubjects) addVariable(cell ssa.Value, asked subject, seen map[ssa.Value]bool) {
	if !found.note(cell, asked) {
		return
	}
	eachUse(cell, func(instr ssa.Instruction, addr ssa.Value) bool {
		if st, ok := instr.(*ssa.Store); ok && st.Addr == addr {
			found.add(st.Val, asked, seen)
		}
		return true
	})
	if p, ok := cell.(*place); ok {
		for _, from := range p.from {
			found.addVariable(from, asked, seen)
		}
	}
}

// worksOnBits reports whether an operation makes each bit of the result of the same bit of a number, with a constant.
func worksOnBits(b *ssa.BinOp) bool {
	switch b.Op {
	case token.AND, token.OR, token.XOR, token.AND_NOT:
		_, ok := constNumber(b.Y)
		return ok
	}
	return false
}

// note adds one value, and reports whether that is anything new. Errors, flags and locks are followed anyway.
func (found subjects) note(v ssa.Value, asked subject) bool {
	if t := v.Type(); ssax.IsError(t) || ssax.IsBool(t) {
		return false
	}
	old, known := found[v]
	now := subject{marks: old.marks, bits: old.bits | asked.bits}
	for _, m := range asked.marks {
		if !slices.Contains(now.marks, m) {
			now.marks = append(now.marks, m)
		}
	}
	found[v] = now
	return !known || len(now.marks) > len(old.marks) || now.bits != old.bits
}
