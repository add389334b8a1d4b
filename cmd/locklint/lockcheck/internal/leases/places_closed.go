package leases

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file tells places that only the function itself can reach.

// isClosed reports whether nobody but the function and the literals that it runs itself can reach what a route leads
// to.
func (g *gatheredPlaces) isClosed(r route) bool {
	made, ok := r.root.(*ssa.Alloc)
	if !ok || slices.ContainsFunc(r.steps, hop.isAlong) {
		return false
	}
	closed, known := g.closed[made]
	if !known {
		closed = isKeptInside(made, 0)
		g.closed[made] = closed
	}
	return closed
}

// isKeptInside reports whether the address of a struct or array, or of a part of one, is only used to read and set what
// is there, or put into a variable that is used for nothing else.
func isKeptInside(addr ssa.Value, depth int) bool {
	if depth > ssax.MaxDepth {
		return false
	}
	for _, use := range *addr.Referrers() {
		ok := false
		switch use := use.(type) {
		case *ssa.DebugRef:
			ok = true
		case *ssa.FieldAddr:
			ok = isKeptInside(use, depth+1)
		case *ssa.IndexAddr:
			ok = isKeptInside(use, depth+1)
		case *ssa.UnOp:
			ok = true
		case *ssa.Call:
			_, ok = effectsThrough(use, addr)
		case *ssa.Store:
			ok = use.Addr == addr || isKeptIn(use.Addr, depth+1)
		case *ssa.MakeClosure:
			ok = capturedInside(use, addr, func(captured ssa.Value) bool { return isKeptInside(captured, depth+1) })
		}
		if !ok {
			return false
		}
	}
	return true
}

// isKeptIn is isKeptInside for a variable that holds the address.
func isKeptIn(cell ssa.Value, depth int) bool {
	switch cell.(type) {
	case *ssa.Alloc, *ssa.FreeVar:
	default:
		return false
	}
	if depth > ssax.MaxDepth {
		return false
	}
	for _, use := range *cell.Referrers() {
		ok := false
		switch use := use.(type) {
		case *ssa.DebugRef:
			ok = true
		case *ssa.Store:
			ok = use.Addr == cell
		case *ssa.UnOp:
			ok = isKeptInside(use, depth+1)
		case *ssa.MakeClosure:
			ok = capturedInside(use, cell, func(captured ssa.Value) bool { return isKeptIn(captured, depth+1) })
		}
		if !ok {
			return false
		}
	}
	return true
}

// capturedInside reports whether a literal that is run where it stands does nothing else with what it captures.
func capturedInside(mc *ssa.MakeClosure, captured ssa.Value, inside func(ssa.Value) bool) bool {
	lit, ok := mc.Fn.(*ssa.Function)
	if !ok || !runsHere(mc) {
		return false
	}
	for i, b := range mc.Bindings {
		if b == captured && !inside(lit.FreeVars[i]) {
			return false
		}
	}
	return true
}
