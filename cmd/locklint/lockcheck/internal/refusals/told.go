package refusals

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file finds calls that run with and without the lock and know which it is, as in
//
//	code := http.StatusOK
//	if err := mutex.TryLock(); err != nil {
//		code = http.StatusConflict
//	} else {
//		defer mutex.Unlock()
//		work()
//	}
//	respond(w, code)

// told reports whether a call is told the outcome of the acquire: by the error or flag itself, or by what differs between
// the ways with and without the lock, be it the function that is called. The lock itself says nothing, nor does a context.
func told(flow *leases.Flow, call *ssa.CallCommon) bool {
	t := teller{flow, map[ssa.Value]bool{}}
	return slices.ContainsFunc(call.Args, t.tells) || t.dispatches(call)
}

// A teller looks for the outcome among what values are made of.
type teller struct {
	flow *leases.Flow
	seen map[ssa.Value]bool
}

func (t teller) tells(v ssa.Value) bool {
	if t.seen[v] || ssax.IsContext(v.Type()) {
		return false
	}
	t.seen[v] = true
	if t.isOutcome(v) || t.isMarked(v) {
		return true
	}
	if elems, ok := ssax.Variadic(v); ok {
		return slices.ContainsFunc(elems, t.tells)
	}
	switch v := v.(type) {
	case *ssa.Phi:
		return t.chooses(v)
	case *ssa.MakeInterface:
		return t.tells(v.X)
	case *ssa.ChangeType:
		return t.tells(v.X)
	case *ssa.Convert:
		return t.tells(v.X)
	case *ssa.BinOp:
		return (ssax.IsNilConst(v.X) || ssax.IsNilConst(v.Y)) && (t.isOutcome(v.X) || t.isOutcome(v.Y) || t.isLock(v.X) || t.isLock(v.Y))
	case *ssa.UnOp:
		if v.Op == token.NOT {
			return t.tells(v.X)
		}
		if cell, ok := v.X.(*ssa.Alloc); ok && v.Op == token.MUL {
			return t.holds(cell)
		}
	case *ssa.Alloc: // the address of a struct
		return t.holds(v)
	case *ssa.Call: // what only computes, as fmt.Sprint
		return !sections.IsWork(&v.Call) && slices.ContainsFunc(v.Call.Args, t.tells)
	}
	return false
}

// isOutcome reports whether a value is the error or the flag of the acquire.
func (t teller) isOutcome(v ssa.Value) bool {
	site := t.flow.Site
	if ex, ok := v.(*ssa.Extract); ok {
		return ex.Tuple == ssa.Value(site.Call) && (ex.Index == site.Err || ex.Index == site.OK)
	}
	return site.Recv != nil && v == ssa.Value(site.Call) && (ssax.IsError(v.Type()) || ssax.IsBool(v.Type()))
}

// isLock reports whether a value is a lock that is there only where the acquire has succeeded.
func (t teller) isLock(v ssa.Value) bool {
	return t.flow.Site.Recv == nil && t.flow.Site.Has(ssax.SoleValue(v))
}

// chooses reports whether a variable has one value with the lock and another without it. Without it, that is a constant,
// the outcome, or what the way without the lock has made of its own: what was there before, and is only made anew with
// the lock, tells nobody anything.
func (t teller) chooses(phi *ssa.Phi) bool {
	got, lost := map[string]bool{}, map[string]bool{}
	for i, v := range phi.Edges {
		granted, refused := t.flow.Taken(phi.Block().Preds[i], phi.Block())
		if granted {
			got[identity(v)] = true
		}
		if !refused {
			continue
		}
		if _, isConst := v.(*ssa.Const); !isConst && !t.isOutcome(v) && !t.onlyRefused(v) || t.flow.Site.Has(v) {
			return false
		}
		lost[identity(v)] = true
	}
	return differ(got, lost) && !t.isLease(phi)
}

// isLease reports whether a variable may be the lock.
func (t teller) isLease(phi *ssa.Phi) bool { return slices.ContainsFunc(phi.Edges, t.flow.Site.Has) }

// onlyRefused reports whether a value comes to be only where there is no lock.
func (t teller) onlyRefused(v ssa.Value) bool {
	instr, ok := v.(ssa.Instruction)
	return ok && t.without(instr.Block())
}

// without reports whether a block runs only where the acquire has failed.
func (t teller) without(b *ssa.BasicBlock) bool {
	granted, refused := t.waysTo(b)
	return refused && !granted
}

// holds reports whether a variable that lives in memory is assigned only where there is no lock, or a field of it is
// assigned what tells the outcome.
func (t teller) holds(cell *ssa.Alloc) bool {
	if t.flow.Site.Has(cell) {
		return false
	}
	for _, instr := range *cell.Referrers() {
		switch instr := instr.(type) {
		case *ssa.Store:
			if instr.Addr == cell && !t.flow.Site.Has(instr.Val) && (t.without(instr.Block()) || t.tells(instr.Val)) {
				return true
			}
		case *ssa.FieldAddr:
			for _, use := range *instr.Referrers() {
				if st, ok := use.(*ssa.Store); ok && st.Addr == instr && t.marks(st) {
					return true
				}
			}
		}
	}
	return false
}

// identity is the same for the same value, and for equal constants.
func identity(v ssa.Value) string {
	if c, ok := v.(*ssa.Const); ok {
		return c.String()
	}
	return v.Name()
}
