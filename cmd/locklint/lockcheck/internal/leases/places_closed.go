package leases

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file tells places that only the function itself can reach. Who is given the address of one field, as the methods
// of a sync.Mutex in a struct are, can not reach the fields beside it.

// isClosed reports whether nobody but the function and the literals that it runs itself can reach what a route leads
// to.
func (g *gatheredPlaces) isClosed(r route) bool {
	made, ok := r.root.(*ssa.Alloc)
	if !ok || slices.ContainsFunc(r.steps, hop.isAlong) {
		return false
	}
	ways, known := g.ways[made]
	if !known {
		ways = &waysOut{root: route{root: made}}
		ways.from(made, ways.root, 0)
		g.ways[made] = ways
	}
	return !slices.ContainsFunc(ways.out, r.leadsThrough)
}

// waysOut are the parts of a struct or array whose addresses are used for more than to read and set what is there, or go
// into a variable that is.
type waysOut struct {
	root route
	out  []route
}

// from looks for those of a part, given one of its addresses.
func (w *waysOut) from(addr ssa.Value, at route, depth int) {
	if depth > ssax.MaxDepth {
		w.out = append(w.out, at)
		return
	}
	for _, use := range *addr.Referrers() {
		ok := true
		switch use := use.(type) {
		case *ssa.DebugRef, *ssa.UnOp:
		case *ssa.FieldAddr:
			w.from(use, at.to(hop{in: ssax.Elem(use.X.Type()), index: use.Field}), depth+1)
		case *ssa.IndexAddr:
			ok = w.element(use, at, depth)
		case *ssa.Call:
			_, ok = effectsThrough(use, addr)
		case *ssa.Store:
			if use.Addr != addr {
				w.fromVariable(ssax.CellOf(use.Addr), at, depth+1)
			}
		case *ssa.MakeClosure:
			ok = eachCaptured(use, addr, func(captured ssa.Value) { w.from(captured, at, depth+1) })
		case *ssa.Convert: // see package unsafe
			w.out = append(w.out, w.root)
		default:
			ok = false
		}
		if !ok {
			w.out = append(w.out, at)
		}
	}
}

// element is from for an element of an array. It is false where any of them may be it, and its address gets out.
func (w *waysOut) element(elem *ssa.IndexAddr, at route, depth int) bool {
	if i, isConst := constNumber(elem.Index); isConst {
		w.from(elem, at.to(hop{in: ssax.Elem(elem.X.Type()), index: int(i)}), depth+1)
		return true
	}
	some := waysOut{root: w.root}
	some.from(elem, at, depth+1)
	return len(some.out) == 0
}

// fromVariable is from for a variable that holds the address.
func (w *waysOut) fromVariable(cell ssa.Value, at route, depth int) {
	switch cell.(type) {
	case *ssa.Alloc, *ssa.FreeVar:
	default:
		w.out = append(w.out, at)
		return
	}
	if depth > ssax.MaxDepth {
		w.out = append(w.out, at)
		return
	}
	for _, use := range *cell.Referrers() {
		ok := true
		switch use := use.(type) {
		case *ssa.DebugRef:
		case *ssa.Store:
			ok = use.Addr == cell
		case *ssa.UnOp:
			w.from(use, at, depth+1)
		case *ssa.MakeClosure:
			ok = eachCaptured(use, cell, func(captured ssa.Value) { w.fromVariable(captured, at, depth+1) })
		default:
			ok = false
		}
		if !ok {
			w.out = append(w.out, at)
		}
	}
}

// eachCaptured calls visit with what a variable is in a literal that captures it. It is false for literals that are not
// run where they stand.
func eachCaptured(mc *ssa.MakeClosure, captured ssa.Value, visit func(ssa.Value)) bool {
	lit, ok := mc.Fn.(*ssa.Function)
	if !ok || !runsHere(mc) {
		return false
	}
	for i, b := range mc.Bindings {
		if b == captured {
			visit(lit.FreeVars[i])
		}
	}
	return true
}
