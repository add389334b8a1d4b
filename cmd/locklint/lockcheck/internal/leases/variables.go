package leases

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file keeps the contents of variables while a path may still ask for them.

// follows reports whether the content of a value is followed.
func (f *follower) follows(v ssa.Value) bool {
	_, ok := f.subjects[v]
	return ok
}

// followsNil reports whether it is followed whether a value is nil, or the zero time.
func (f *follower) followsNil(v ssa.Value) bool {
	t := heldType(v)
	return (mayBeNil(t) || ssax.FullTypeName(t) == "time.Time") && f.li.libraryOf(t) == clients.None && f.follows(v)
}

// put records the content of a phi, a load, or a variable in memory.
func (f *follower) put(v ssa.Value, c content, s *pathState) {
	t := heldType(v)
	cell, inMemory := v.(*ssa.Alloc)
	if c = c.only(f.subjects[v].bits, t); !c.says(t) || !f.follows(v) || !isNumber(t) && !isText(t) && !isList(t) || inMemory && f.li.changesOutside(cell) {
		delete(s.contents, v)
		return
	}
	s.contents[v] = c
}

// read records what a load finds in its variable.
func (f *follower) read(load *ssa.UnOp, s *pathState) {
	delete(s.contents, load)
	if load.Op != token.MUL {
		return
	}
	if c, ok := s.contents[f.places.variable(load.X)]; ok {
		f.put(load, c, s)
	}
}

// forget drops what is known of variables that a block and those behind it do not ask about, and after a round of a loop
// what was computed in it.
func (f *follower) forget(s *pathState, b *ssa.BasicBlock, again bool) {
	for v, c := range s.contents {
		if first, ok := v.(*roundStart); ok {
			if b.Parent() == first.Parent() && !first.loop[b] {
				delete(s.contents, v)
			}
			continue
		}
		if !f.li.isAsked(v, b) || again && c.computed && !outlastsRound(v) {
			delete(s.contents, v)
		}
	}
}

// outlastsRound reports whether the content of a value holds in the next round of a loop, too: it is brought to bounds at
// its head, or no round sets it.
func outlastsRound(v ssa.Value) bool {
	switch v.(type) {
	case *ssa.Phi, *ssa.Alloc, *place, *ssa.Parameter:
		return true
	}
	return false
}

// A roundStart is what a variable in memory holds at the head of a loop, in any round so far. It is to the variable what
// a phi is to a value.
type roundStart struct {
	ssa.Value // the variable
	loop      map[*ssa.BasicBlock]bool
}

// A headed is a variable at the head of a loop.
type headed struct {
	cell ssa.Value
	head *ssa.BasicBlock
}

// roundStart is nil for variables that the loop does not set.
func (li *Info) roundStart(cell ssa.Value, head *ssa.BasicBlock) *roundStart {
	at := headed{cell, head}
	start, known := li.roundStarts[at]
	if known {
		return start
	}
	loop := ssax.LoopOf(head)
	if len(loop) > 0 && !eachUse(cell, func(instr ssa.Instruction, _ ssa.Value) bool {
		_, ok := instr.(*ssa.Store)
		return !ok || !loop[instr.Block()] && instr.Parent() == head.Parent()
	}) {
		start = &roundStart{cell, loop}
	}
	li.roundStarts[at] = start
	return start
}

// round enters the head of a loop. What the variables in memory hold there that it sets is brought to bounds as that of
// phis is, see entering.
func (f *follower) round(s *pathState, head *ssa.BasicBlock, again bool) {
	starts := map[*roundStart]content{}
	for v, c := range s.contents {
		switch v.(type) {
		case *ssa.Alloc, *place:
			if start := f.li.roundStart(v, head); start != nil {
				starts[start] = c
			}
		}
	}
	for start, c := range starts {
		if again && c.computed {
			if old, known := s.contents[start]; known && old.computed {
				c = widen(old, c, f.subjects[start.Value].marks)
			} else {
				c = c.marked(f.subjects[start.Value].marks)
			}
			f.put(start.Value, c, s)
		}
		s.contents[start] = c
	}
}

// isAsked reports whether something from a block on depends on a value, or a literal may, whenever it runs.
func (li *Info) isAsked(v ssa.Value, b *ssa.BasicBlock) bool {
	if p, ok := v.(*place); ok {
		return p.isAsked(b)
	}
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
