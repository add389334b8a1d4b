package leases

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file finds the variables whose content decides branches. Only those are followed: what others hold would only
// multiply the states.

// subjects are the phis and variables in memory that conditions compare with constants, and what flows into them, with
// the numbers in ascending order at which a comparison with them changes its outcome.
type subjects map[ssa.Value][]int64

// subjectsIn finds those of a function and of the literals in it, with which it shares its variables.
func (li *Info) subjectsIn(fn *ssa.Function) subjects {
	fn = ssax.Outermost(fn)
	if found, ok := li.subjects[fn]; ok {
		return found
	}
	g := gatheredSubjects{subjects{}, li.placesIn(fn)}
	g.gather(fn)
	for _, marks := range g.subjects {
		slices.Sort(marks)
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
				found.add(instr.Call.Args[0], nil, map[ssa.Value]bool{})
			}
		}
	})
}

// compared adds a value that is compared with a constant.
func (found gatheredSubjects) compared(v ssa.Value, c *ssa.Const) {
	if n, ok := constNumber(c); ok {
		found.add(v, []int64{plus(n, -1), n, plus(n, 1)}, map[ssa.Value]bool{})
		return
	}
	found.add(v, nil, map[ssa.Value]bool{})
}

// add adds a value and what it is made of, unless that was seen.
func (found gatheredSubjects) add(v ssa.Value, marks []int64, seen map[ssa.Value]bool) {
	if seen[v] {
		return
	}
	seen[v] = true
	switch v := v.(type) {
	case *ssa.Phi:
		if found.note(v, marks) {
			for _, e := range v.Edges {
				found.add(e, marks, seen)
			}
		}
	case *ssa.BinOp:
		found.add(v.X, marks, seen)
		found.add(v.Y, marks, seen)
	case *ssa.Convert:
		found.add(v.X, marks, seen)
	case *ssa.ChangeType:
		found.add(v.X, marks, seen)
	case *ssa.Call:
		if list, _, ok := ssax.Appended(v); ok {
			found.add(list, marks, seen)
		} else if isLen(v) {
			found.add(v.Call.Args[0], marks, seen)
		}
	case *ssa.UnOp:
		if v.Op != token.MUL {
			return
		}
		cell := found.places.variable(v.X)
		if cell == nil || !found.note(v, marks) || !found.note(cell, marks) {
			return
		}
		eachUse(cell, func(instr ssa.Instruction, addr ssa.Value) bool {
			if st, ok := instr.(*ssa.Store); ok && st.Addr == addr {
				found.add(st.Val, marks, seen)
			}
			return true
		})
	}
}

// note adds one value, and reports whether that is anything new. Errors, flags and locks are followed anyway.
func (found subjects) note(v ssa.Value, marks []int64) bool {
	if t := v.Type(); ssax.IsError(t) || ssax.IsBool(t) {
		return false
	}
	old, known := found[v]
	have := len(old)
	for _, m := range marks {
		if !slices.Contains(old, m) {
			old = append(old, m)
		}
	}
	found[v] = old
	return !known || len(old) > have
}
