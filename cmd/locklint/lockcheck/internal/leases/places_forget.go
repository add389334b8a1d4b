package leases

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file forgets what is in a place where it may have changed.

// born gives the places in a new variable their first values.
func (f *follower) born(made *ssa.Alloc, s *pathState) {
	for _, p := range f.places.byRoot[made] {
		f.lose(p, s)
		if !slices.ContainsFunc(p.route.steps, hop.isAlong) {
			f.assign(p, f.zero(p), s)
			f.put(p, zeroContent(ssax.Elem(p.Type())), s)
		}
	}
}

// lose forgets what a place holds.
func (f *follower) lose(p *place, s *pathState) {
	s.set(p, unknown)
	delete(s.contents, p)
}

// losePartsOf forgets the places that a route leads to, or through.
func (f *follower) losePartsOf(r route, s *pathState) {
	for _, p := range f.places.byRoot[r.root] {
		if p.route.leadsThrough(r) {
			f.lose(p, s)
		}
	}
}

// loseAt forgets the variable or the places that a route leads to, or through.
func (f *follower) loseAt(r route, s *pathState) {
	f.losePartsOf(r, s)
	if cell := f.places.at(r); cell != nil && s.known[cell] != theLease {
		s.set(cell, unknown)
		delete(s.contents, cell)
	}
}

// renewed forgets the places that are reached by a value that an instruction makes anew.
func (f *follower) renewed(v ssa.Value, s *pathState) {
	for _, p := range f.places.byRoot[v] {
		f.lose(p, s)
	}
}

// overwritten forgets the places that a store to an address may change, other than the one that it is that of.
func (f *follower) overwritten(addr ssa.Value, s *pathState) {
	f.overwrittenLoose(addr, s)
	if len(f.places.byKey) == 0 {
		return
	}
	addr = ssax.CellOf(addr)
	own := f.places.of[addr]
	if r, ok := routeTo(addr, 0); ok {
		for _, p := range f.places.byRoot[r.root] {
			if p != own && p.route.leadsThrough(r) {
				f.lose(p, s)
			}
		}
	} else if part, ok := addr.(*ssa.IndexAddr); ok && isPartAddr(part) { // some element
		if r, ok := routeTo(part.X, 0); ok {
			f.renewed(r.root, s)
		}
	}
	for _, p := range f.places.open {
		if p != own && p.mayBeAt(addr) {
			f.lose(p, s)
		}
	}
}

// mayBeAt reports whether a store to an address may change a place that others can reach, or the way to it.
func (p *place) mayBeAt(addr ssa.Value) bool {
	t := ssax.Elem(addr.Type())
	switch t.Underlying().(type) {
	case *types.Struct, *types.Array:
		return true
	}
	switch addr := addr.(type) {
	case *ssa.Alloc:
		return false // see leadsThrough; who else stores there does so by another address
	case *ssa.FieldAddr:
		if isCast(baseOf(addr)) {
			return true
		}
		in := ssax.Elem(addr.X.Type())
		return slices.ContainsFunc(p.route.steps, func(h hop) bool {
			return !h.along && h.index == addr.Field && types.Identical(h.in.Underlying(), in.Underlying())
		})
	}
	return types.Identical(t.Underlying(), ssax.Elem(p.Type()).Underlying()) ||
		slices.ContainsFunc(p.route.steps, hop.isAlong)
}

// called forgets what a call may change, unless it is given nothing by which it could.
func (f *follower) called(call ssa.CallInstruction, s *pathState) {
	c := call.Common()
	if b, ok := c.Value.(*ssa.Builtin); ok && b.Name() != "copy" || understands(call) && !runsOwn(call) {
		return
	}
	if fn := c.StaticCallee(); fn != nil && len(fn.Blocks) > 0 && onlyReads(fn) {
		return
	}
	f.loseLoose(call, s)
	if len(f.places.open) > 0 && (f.li.runsAlongside(f.fn) || !f.isFarOff(c)) {
		f.othersRun(s)
	}
}

// othersRun forgets what others can reach, because they run.
func (f *follower) othersRun(s *pathState) {
	for _, p := range f.places.open {
		f.lose(p, s)
	}
}

// isFarOff reports whether a call runs code of another package that is given nothing but plain values, contexts and the
// locks of libraries: it knows nothing of the structs of the function.
func (f *follower) isFarOff(c *ssa.CallCommon) bool {
	fn := c.StaticCallee()
	if fn == nil || fn.Pkg == nil || fn.Pkg.Pkg == f.fn.Pkg.Pkg {
		return false
	}
	for _, a := range c.Args {
		if !f.isPlain(a.Type()) {
			return false
		}
	}
	return true
}

// isPlain reports whether a value of a type leads to nothing that this package has made.
func (f *follower) isPlain(t types.Type) bool {
	if _, ok := t.Underlying().(*types.Basic); ok || ssax.IsContext(t) || f.li.libraryOf(t) != clients.None {
		return true
	}
	switch ssax.FullTypeName(ssax.Elem(t)) {
	case "time.Time", "time.Timer", "time.Ticker", "strings.Builder", "bytes.Buffer":
		return true
	}
	list, ok := t.Underlying().(*types.Slice)
	if !ok {
		return false
	}
	_, ok = list.Elem().Underlying().(*types.Basic)
	return ok
}

// ended forgets what the calls may change that a function has deferred and that run before a deferred literal.
func (f *follower) ended(before *ssa.Defer, s *pathState) {
	ssax.EachInstr(f.fn, func(instr ssa.Instruction) {
		if d, ok := instr.(*ssa.Defer); ok && ssax.Literal(d.Common()) == nil && mayFollow(d, before) {
			f.called(d, s)
		}
	})
}

// mayChange reports whether a store to an address may change what a place holds.
func (p *place) mayChange(addr ssa.Value, all *places) bool {
	addr = ssax.CellOf(addr)
	if all.of[addr] == p {
		return true
	}
	r, ok := routeTo(addr, 0)
	return ok && p.route.leadsThrough(r) || p.open && p.mayBeAt(addr)
}

// isAsked is Info.isAsked for a place.
func (p *place) isAsked(b *ssa.BasicBlock) bool {
	if p.before == nil {
		p.before = map[*ssa.BasicBlock]bool{}
		for _, addr := range p.addrs {
			p.outside = p.outside || addr.Parent() != p.Parent()
			reachBack(usesOf(addr, 0), p.before)
		}
		for _, st := range p.leaves {
			p.outside = p.outside || st.Parent() != p.Parent()
			reachBack([]*ssa.BasicBlock{st.Block()}, p.before)
		}
	}
	return p.outside || b.Parent() != p.Parent() || p.before[b]
}
