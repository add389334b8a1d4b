package leases

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Structs and arrays are also set as a whole:
//
//	sum := summary{}
//	st = attempt{tries: 3}
//
// SSA form stores a zero value, or makes the literal in a variable of its own and copies that. This file finds which
// place is copied to which. What comes from elsewhere, as from a call, is not known.

// A copied is a place that a store of a whole struct sets.
type copied struct {
	to   *place
	from *place // nil: to the zero value
}

// A whole is a store of a whole struct or array.
type whole struct {
	store    *ssa.Store
	to, from route
	zero     bool
}

// wholeOf describes a store. ok is false for others, and where it is not known what is stored.
func wholeOf(st *ssa.Store) (w whole, ok bool) {
	switch st.Val.Type().Underlying().(type) {
	case *types.Struct, *types.Array:
	default:
		return w, false
	}
	w.store = st
	if w.to, ok = routeTo(st.Addr, 0); !ok {
		return w, false
	}
	switch v := st.Val.(type) {
	case *ssa.Const:
		w.zero = v.Value == nil
		return w, w.zero
	case *ssa.UnOp:
		if v.Op == token.MUL && staysUntil(v, st) {
			w.from, ok = routeTo(v.X, 0)
			return w, ok
		}
	}
	return w, false
}

// staysUntil reports whether what a load has read is still there when it is stored elsewhere.
func staysUntil(load *ssa.UnOp, st *ssa.Store) bool {
	if load.Block() != st.Block() {
		return false
	}
	from, ownFrom := baseOf(load.X).(*ssa.Alloc)
	instrs := load.Block().Instrs
	first, last := slices.Index(instrs, ssa.Instruction(load)), slices.Index(instrs, ssa.Instruction(st))
	for _, instr := range instrs[first:last] {
		switch instr := instr.(type) {
		case *ssa.FieldAddr, *ssa.IndexAddr, *ssa.BinOp, *ssa.Alloc, *ssa.DebugRef:
		case *ssa.UnOp:
			if instr.Op == token.ARROW {
				return false
			}
		case *ssa.Store:
			to, ownTo := baseOf(instr.Addr).(*ssa.Alloc)
			if !ownFrom || !ownTo || from == to {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// follow finds which places stores of whole structs copy, and adds those that they are copied from.
func (g *gatheredPlaces) follow(wholes []whole) map[*ssa.Store][]copied {
	found := map[*ssa.Store][]copied{}
	for i := 0; i < len(g.inOrder); i++ { // more are added on the way
		to := g.inOrder[i]
		for _, w := range wholes {
			rest, ok := to.partOf(w.to)
			if !ok {
				continue
			}
			c := copied{to: to}
			if !w.zero {
				c.from = g.place(route{w.from.root, slices.Concat(w.from.steps, rest)}, to.Value)
				c.from.into = append(c.from.into, to)
				c.from.leaves = append(c.from.leaves, w.store)
				to.from = append(to.from, c.from)
			}
			to.wholes = append(to.wholes, w.store)
			to.set = true
			found[w.store] = append(found[w.store], c)
		}
	}
	for _, p := range g.inOrder {
		if p.asked {
			p.askFrom()
		}
	}
	return found
}

// askFrom tells the places that one is copied from that it is asked.
func (p *place) askFrom() {
	for _, from := range p.from {
		if from.set = true; !from.asked { // a literal says what its fields are, or that they are zero
			from.asked = true
			from.askFrom()
		}
	}
}

// partOf is the way to a place from what a route leads to, if there is one without a pointer.
func (p *place) partOf(r route) (rest []hop, ok bool) {
	if !p.route.leadsThrough(r) {
		return nil, false
	}
	rest = p.route.steps[len(r.steps):]
	return rest, !slices.ContainsFunc(rest, hop.isAlong)
}

// A part is what a store of a whole struct puts into a place.
type part struct {
	to   *place
	what abstract
	c    content
}

// partsOf are those of a store, worked out before it changes anything.
func (f *follower) partsOf(st *ssa.Store, s *pathState) (parts []part) {
	for _, w := range f.places.wholes[st] {
		if !f.isAtHome(w.to) {
			continue
		}
		t := ssax.Elem(w.to.Type())
		if w.from == nil {
			parts = append(parts, part{w.to, f.zero(w.to), zeroContent(t)})
			continue
		}
		c, known := s.contents[w.from]
		if !known {
			c = unknownOf(t)
		}
		parts = append(parts, part{w.to, s.known[w.from], c})
	}
	return parts
}

// setParts puts them where they belong. Of the literal that they come from nothing more is asked.
func (f *follower) setParts(st *ssa.Store, parts []part, s *pathState) {
	for _, p := range parts {
		f.assign(p.to, p.what, s)
		f.put(p.to, p.c, s)
	}
	for _, w := range f.places.wholes[st] {
		if w.from != nil && isLiteral(w.from.route.root) {
			f.lose(w.from, s)
		}
	}
}

// isLiteral reports whether a variable is one that SSA form makes a literal in.
func isLiteral(v ssa.Value) bool {
	made, ok := v.(*ssa.Alloc)
	return ok && made.Comment == "complit" && !made.Heap
}
