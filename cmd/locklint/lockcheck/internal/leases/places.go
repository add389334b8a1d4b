package leases

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Programs keep errors, flags and states in fields as well as in variables:
//
//	if out.Err = m.LockContext(ctx); out.Err != nil {
//		return
//	}
//
// This file finds the fields, and the elements of arrays, that a function both sets and asks, by the same struct. They
// are followed like variables. What other code can reach is forgotten where such code may have changed it.

// A place is a field of a struct, or an element of an array. It stands for all addresses that lead to it.
type place struct {
	ssa.Value // the first of the addresses
	addrs     []ssa.Value
	route     route
	open      bool // other code can reach it
	asked     bool // it is read for more than to pass it on
	set       bool
	elsewhere bool                     // its address goes somewhere
	before    map[*ssa.BasicBlock]bool // from where it may be read
	outside   bool                     // in several functions

	// of stores of whole structs
	from, into []*place     // that it is copied from, and into
	wholes     []*ssa.Store // that set it
	leaves     []*ssa.Store // that copy it
}

// A route leads from a value to a place.
type route struct {
	root  ssa.Value // a variable, or a pointer
	steps []hop
}

// A hop is one step of a route: into a field or an element, or along a pointer.
type hop struct {
	in    types.Type // the struct or array, the type of what the pointer points to
	index int
	along bool // a pointer
}

func (h hop) isAlong() bool { return h.along }

func (r route) to(h hop) route { return route{r.root, append(slices.Clip(r.steps), h)} }

func (r route) key() string {
	key := fmt.Sprintf("%p", r.root)
	for _, h := range r.steps {
		key += fmt.Sprintf(" %d %t", h.index, h.along)
	}
	return key
}

// leadsTo reports whether a route leads through where another ends, or ends there.
func (r route) leadsThrough(other route) bool {
	return r.root == other.root && len(r.steps) >= len(other.steps) &&
		slices.EqualFunc(r.steps[:len(other.steps)], other.steps, func(x, y hop) bool {
			return x.index == y.index && x.along == y.along
		})
}

// places are those of a function and of the literals in it.
type places struct {
	of     map[ssa.Value]*place   // by address
	byKey  map[string]*place      // by route
	byRoot map[ssa.Value][]*place // by the value or the variable that they are reached by
	open   []*place
	wholes map[*ssa.Store][]copied
}

// placesIn finds those of a function.
func (li *Info) placesIn(fn *ssa.Function) *places {
	fn = ssax.Outermost(fn)
	if found, ok := li.places[fn]; ok {
		return found
	}
	g := gatheredPlaces{li: li, byKey: map[string]*place{}, ways: map[ssa.Value]*waysOut{}}
	g.gather(fn)
	found := &places{of: map[ssa.Value]*place{}, byKey: map[string]*place{}, byRoot: map[ssa.Value][]*place{}}
	wholes := g.follow(g.wholes)
	for _, p := range g.inOrder {
		if !p.asked || !p.set || p.elsewhere {
			continue
		}
		for _, addr := range p.addrs {
			found.of[addr] = p
		}
		found.byKey[p.route.key()] = p
		found.byRoot[p.route.root] = append(found.byRoot[p.route.root], p)
		if p.open = !g.isClosed(p.route); p.open {
			found.open = append(found.open, p)
		}
	}
	found.wholes = wholes
	for st, list := range wholes {
		wholes[st] = slices.DeleteFunc(list, func(w copied) bool {
			return !found.isFollowed(w.to) || w.from != nil && !found.isFollowed(w.from)
		})
	}
	li.places[fn] = found
	return found
}

// isFollowed reports whether a place is one of those.
func (found *places) isFollowed(p *place) bool { return found.byKey[p.route.key()] == p }

// gatheredPlaces collects places.
type gatheredPlaces struct {
	li      *Info
	byKey   map[string]*place
	inOrder []*place
	wholes  []whole
	ways    map[ssa.Value]*waysOut
}

func (g *gatheredPlaces) gather(fn *ssa.Function) {
	ssax.EachInstr(fn, func(instr ssa.Instruction) {
		if call, ok := instr.(*ssa.Call); ok {
			g.through(call)
			return
		}
		if st, ok := instr.(*ssa.Store); ok {
			if w, ok := wholeOf(st); ok {
				g.wholes = append(g.wholes, w)
			}
			return
		}
		addr, ok := instr.(ssa.Value)
		if !ok || !isPartAddr(addr) || !g.li.keepsState(ssax.Elem(addr.Type())) {
			return
		}
		r, ok := routeTo(addr, 0)
		if !ok {
			return
		}
		g.place(r, addr).add(addr)
	})
}

// place is the place that a route leads to.
func (g *gatheredPlaces) place(r route, addr ssa.Value) *place {
	p := g.byKey[r.key()]
	if p == nil {
		p = &place{Value: addr, route: r}
		g.byKey[r.key()] = p
		g.inOrder = append(g.inOrder, p)
	}
	return p
}

// through finds the fields that a function of the program reads and sets in a struct that it is given, as methods do.
func (g *gatheredPlaces) through(call *ssa.Call) {
	fn := calleeOf(call)
	if fn == nil {
		return
	}
	for i, a := range call.Call.Args {
		load, isLoad := a.(*ssa.UnOp)
		if isLoad = isLoad && load.Op == token.MUL && isStruct(a.Type()); isLoad {
			a = load.X
		}
		effects, known := readsOf(fn.Params[i])
		if !isLoad {
			effects, known = effectsOn(fn.Params[i])
		}
		r, ok := routeTo(a, 0)
		if !known || !ok {
			continue
		}
		for _, on := range effects {
			if on.field < 0 || !g.li.keepsState(ssax.Elem(on.at.Type())) {
				continue
			}
			p := g.place(r.to(hop{in: on.in, index: on.field}), on.at)
			p.outside = true
			p.asked = p.asked || on.to == nil
			p.set = p.set || on.to != nil
		}
	}
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// add learns from one address of a place what happens to it.
func (p *place) add(addr ssa.Value) {
	p.addrs = append(p.addrs, addr)
	for _, use := range *addr.Referrers() {
		switch use := use.(type) {
		case *ssa.Store:
			p.set = true
			p.elsewhere = p.elsewhere || use.Addr != addr
		case *ssa.UnOp:
			p.asked = p.asked || slices.ContainsFunc(*use.Referrers(), decides)
		case *ssa.DebugRef:
		case *ssa.Call:
			effects, known := effectsThrough(use, addr)
			p.elsewhere = p.elsewhere || !known
			p.set = p.set || slices.ContainsFunc(effects, func(on effect) bool { return on.to != nil })
		default:
			p.elsewhere = true
		}
	}
}

// decides reports whether an instruction looks at what it is given.
func decides(instr ssa.Instruction) bool {
	switch instr := instr.(type) {
	case *ssa.If, *ssa.BinOp, *ssa.Phi:
		return true
	case *ssa.UnOp:
		return instr.Op == token.NOT
	case *ssa.Call:
		return true // may be errors.Is
	case *ssa.Convert:
		return slices.ContainsFunc(*instr.Referrers(), decides)
	case *ssa.ChangeType:
		return slices.ContainsFunc(*instr.Referrers(), decides)
	}
	return false
}

// keepsState reports whether a value of a type may say whether there is a lock. Locks themselves are looked after
// elsewhere.
func (li *Info) keepsState(t types.Type) bool {
	return (ssax.IsError(t) || ssax.IsBool(t) || isNumber(t) || isText(t) || isList(t)) && li.libraryOf(t) == clients.None
}

// isPartAddr reports whether a value is the address of a field or of an element of an array.
func isPartAddr(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.FieldAddr:
		return true
	case *ssa.IndexAddr:
		_, ok := ssax.Elem(v.X.Type()).Underlying().(*types.Array)
		return ok
	}
	return false
}

// routeTo is the way to what an address is that of. ok is false where that may be another in each run of the instruction
// for reasons that cannot be seen.
func routeTo(addr ssa.Value, depth int) (r route, ok bool) {
	if depth > ssax.MaxDepth {
		return route{}, false
	}
	switch addr := ssax.CellOf(addr).(type) {
	case *ssa.Alloc:
		return route{root: addr}, true
	case *ssa.FieldAddr:
		r, ok = routeTo(addr.X, depth+1)
		return r.to(hop{in: ssax.Elem(addr.X.Type()), index: addr.Field}), ok
	case *ssa.IndexAddr:
		i, isConst := constNumber(addr.Index)
		if !isConst || !isPartAddr(addr) {
			return route{}, false
		}
		r, ok = routeTo(addr.X, depth+1)
		return r.to(hop{in: ssax.Elem(addr.X.Type()), index: int(i)}), ok
	case *ssa.UnOp:
		if addr.Op != token.MUL {
			return route{root: addr}, true
		}
		if sole := ssax.SoleValue(addr); sole != ssa.Value(addr) {
			return routeTo(sole, depth+1)
		}
		if g, isGlobal := addr.X.(*ssa.Global); isGlobal {
			return route{root: g, steps: []hop{{in: ssax.Elem(addr.Type()), along: true}}}, true
		}
		r, ok = routeTo(addr.X, depth+1)
		return r.to(hop{in: ssax.Elem(addr.Type()), along: true}), ok
	case *ssa.Parameter, *ssa.Call, *ssa.Extract, *ssa.Phi, *ssa.TypeAssert, *ssa.Global:
		return route{root: addr}, true
	}
	return route{}, false
}

// variable is the variable or place that an address is that of, nil if it is not followed.
func (found *places) variable(addr ssa.Value) ssa.Value {
	switch cell := ssax.CellOf(addr).(type) {
	case *ssa.Alloc:
		return cell
	case *ssa.FieldAddr, *ssa.IndexAddr:
		if p := found.of[cell]; p != nil {
			return p
		}
	}
	return nil
}

// isAtHome reports whether a variable, or a place, belongs to the function that is followed, or to no function.
func (f *follower) isAtHome(cell ssa.Value) bool {
	home := homeOf(cell)
	return home == nil || ssax.Within(home, f.fn)
}

// heldType is the type of what is in a variable or place, for other values their own.
func heldType(v ssa.Value) types.Type {
	switch v.(type) {
	case *ssa.Alloc, *place:
		return ssax.Elem(v.Type())
	}
	return v.Type()
}

// homeOf is the function that a variable, or a place, belongs to.
func homeOf(cell ssa.Value) *ssa.Function {
	p, ok := cell.(*place)
	if !ok {
		return cell.Parent()
	}
	if home := p.route.root.Parent(); home != nil {
		return home
	}
	return nil
}

// eachUse is ssax.EachCellUse, also for places. The address is nil for stores of a whole struct.
func eachUse(cell ssa.Value, use func(instr ssa.Instruction, addr ssa.Value) bool) bool {
	p, ok := cell.(*place)
	if !ok {
		return ssax.EachCellUse(cell, use)
	}
	for _, addr := range p.addrs {
		for _, instr := range *addr.Referrers() {
			if !use(instr, addr) {
				return false
			}
		}
	}
	for _, st := range p.wholes {
		if !use(st, nil) {
			return false
		}
	}
	return true
}
