package leases

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
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
	found := subjects{}
	found.gather(fn)
	for _, marks := range found {
		slices.Sort(marks)
	}
	li.subjects[fn] = found
	return found
}

func (found subjects) gather(fn *ssa.Function) {
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
				found.add(instr.Call.Args[0], nil)
			}
		}
	})
	for _, lit := range fn.AnonFuncs {
		found.gather(lit)
	}
}

// compared adds a value that is compared with a constant.
func (found subjects) compared(v ssa.Value, c *ssa.Const) {
	if n, ok := constNumber(c); ok {
		found.add(v, []int64{plus(n, -1), n, plus(n, 1)})
		return
	}
	found.add(v, nil)
}

// add adds a value and what it is made of.
func (found subjects) add(v ssa.Value, marks []int64) {
	switch v := v.(type) {
	case *ssa.Phi:
		if found.note(v, marks) {
			for _, e := range v.Edges {
				found.add(e, marks)
			}
		}
	case *ssa.BinOp:
		found.add(v.X, marks)
		found.add(v.Y, marks)
	case *ssa.Convert:
		found.add(v.X, marks)
	case *ssa.ChangeType:
		found.add(v.X, marks)
	case *ssa.Call:
		if list, _, ok := ssax.Appended(v); ok {
			found.add(list, marks)
		} else if isLen(v) {
			found.add(v.Call.Args[0], marks)
		}
	case *ssa.UnOp:
		cell, ok := ssax.CellOf(v.X).(*ssa.Alloc)
		if !ok || !found.note(v, marks) || !found.note(cell, marks) {
			return
		}
		ssax.EachCellUse(cell, func(instr ssa.Instruction, addr ssa.Value) bool {
			if st, ok := instr.(*ssa.Store); ok && st.Addr == addr {
				found.add(st.Val, marks)
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

// follows reports whether the content of a value is followed.
func (f *follower) follows(v ssa.Value) bool {
	_, ok := f.subjects[v]
	return ok
}

// followsNil reports whether it is followed whether a value is nil, or the zero time.
func (f *follower) followsNil(v ssa.Value) bool {
	t := v.Type()
	if _, ok := v.(*ssa.Alloc); ok {
		t = ssax.Elem(t)
	}
	return (mayBeNil(t) || ssax.FullTypeName(t) == "time.Time") && f.li.libraryOf(t) == clients.None && f.follows(v)
}

// put records the content of a phi, a load, or a variable in memory.
func (f *follower) put(v ssa.Value, c content, s *pathState) {
	t := v.Type()
	cell, inMemory := v.(*ssa.Alloc)
	if inMemory {
		t = ssax.Elem(t)
	}
	if !c.says(t) || !f.follows(v) || !isNumber(t) && !isText(t) && !isList(t) || inMemory && f.leaks(cell) {
		delete(s.contents, v)
		return
	}
	s.contents[v] = c
}

// forget drops what is known of variables that a block and those behind it do not ask about, and after a round of a loop
// what was computed in it.
func (f *follower) forget(s *pathState, b *ssa.BasicBlock, again bool) {
	for v, c := range s.contents {
		_, isPhi := v.(*ssa.Phi)
		if !f.li.isAsked(v, b) || again && c.computed && !isPhi {
			delete(s.contents, v)
		}
	}
}

// isAsked reports whether something from a block on depends on a value, or a literal may, whenever it runs.
func (li *Info) isAsked(v ssa.Value, b *ssa.BasicBlock) bool {
	if v.Parent() != b.Parent() || slices.ContainsFunc(*v.Referrers(), isCapture) {
		return true
	}
	before, ok := li.askedFrom[v]
	if !ok {
		before = map[*ssa.BasicBlock]bool{}
		reachBack(usesOf(v, 0), before)
		li.askedFrom[v] = before
	}
	return before[b]
}

func isCapture(instr ssa.Instruction) bool {
	_, ok := instr.(*ssa.MakeClosure)
	return ok
}

// usesOf are the blocks that use a value, or what is made of it.
func usesOf(v ssa.Value, depth int) (blocks []*ssa.BasicBlock) {
	for _, use := range *v.Referrers() {
		if use.Parent() != v.Parent() {
			continue
		}
		phi, ok := use.(*ssa.Phi)
		if !ok {
			blocks = append(blocks, use.Block())
			if made, ok := use.(ssa.Value); ok && depth < ssax.MaxDepth && made.Referrers() != nil {
				blocks = append(blocks, usesOf(made, depth+1)...)
			}
			continue
		}
		for i, e := range phi.Edges {
			if e == v {
				blocks = append(blocks, phi.Block().Preds[i])
			}
		}
	}
	return blocks
}

func reachBack(from []*ssa.BasicBlock, seen map[*ssa.BasicBlock]bool) {
	for len(from) > 0 {
		b := from[len(from)-1]
		from = from[:len(from)-1]
		if !seen[b] {
			seen[b] = true
			from = append(from, b.Preds...)
		}
	}
}
