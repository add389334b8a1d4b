package leases

import (
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// A teller looks for variables that differ between the ways with and without the lock among what a condition is made of.
type teller struct {
	flow *Flow
	seen map[ssa.Value]bool
}

func (t teller) tells(v ssa.Value) bool {
	if t.seen[v] || ssax.IsError(v.Type()) || t.flow.Site.Has(v) {
		return false
	}
	t.seen[v] = true
	switch v := v.(type) {
	case *ssa.Phi:
		return t.chooses(v) || slices.ContainsFunc(v.Edges, t.tells)
	case *ssa.BinOp:
		return t.tells(v.X) || t.tells(v.Y)
	case *ssa.Lookup:
		return t.tells(v.X)
	case *ssa.MakeMap:
		return t.isFilled(v)
	case *ssa.Convert:
		return t.tells(v.X)
	case *ssa.ChangeType:
		return t.tells(v.X)
	case *ssa.Call:
		return onlyComputes(v) && slices.ContainsFunc(v.Call.Args, t.tells)
	case *ssa.UnOp:
		if v.Op == token.NOT {
			return t.tells(v.X)
		}
		cell := variableOf(v.X)
		return v.Op == token.MUL && cell != nil && t.isSet(cell)
	}
	return false
}

// chooses reports whether a variable has one value with the lock and another without it. What the work says that is done
// with the lock is none that says whether there is one.
func (t teller) chooses(phi *ssa.Phi) bool {
	got, lost := map[string]bool{}, map[string]bool{}
	for i, v := range phi.Edges {
		granted, refused := t.flow.Taken(phi.Block().Preds[i], phi.Block())
		if granted && t.saysMore(v) {
			return false
		}
		if granted {
			got[identity(v)] = true
		}
		if refused {
			lost[identity(v)] = true
		}
	}
	for v := range lost {
		if got[v] {
			return false
		}
	}
	return len(got) > 0 && len(lost) > 0
}

// isSet reports whether a variable in memory, or a part of it, is set only with the lock, or only without it.
func (t teller) isSet(cell *ssa.Alloc) bool {
	return slices.ContainsFunc(storesTo(cell), func(st *ssa.Store) bool { return t.saysBySetting(st, st.Val) })
}

// isFilled is isSet for the entries of a map.
func (t teller) isFilled(m *ssa.MakeMap) bool {
	return slices.ContainsFunc(*m.Referrers(), func(use ssa.Instruction) bool {
		entry, ok := use.(*ssa.MapUpdate)
		return ok && t.saysBySetting(entry, entry.Value)
	})
}

// saysBySetting reports whether something is set to a value only with the lock, or only without it.
func (t teller) saysBySetting(at ssa.Instruction, to ssa.Value) bool {
	if ssax.IsError(to.Type()) || t.flow.Site.Has(to) {
		return false
	}
	granted, refused := t.reaches(at.Block())
	return refused && !granted || granted && !refused && !t.saysMore(to)
}

// reaches says with which outcomes of the acquire a block runs.
func (t teller) reaches(b *ssa.BasicBlock) (granted, refused bool) {
	for _, p := range b.Preds {
		g, r := t.flow.Taken(p, b)
		granted, refused = granted || g, refused || r
	}
	return granted, refused
}

// saysMore reports whether a value is what a call has found out.
func (t teller) saysMore(v ssa.Value) bool {
	if ex, ok := v.(*ssa.Extract); ok {
		v = ex.Tuple
	}
	call, ok := v.(*ssa.Call)
	return ok && !onlyComputes(call)
}

// onlyComputes reports whether a call depends on nothing but what it is given.
func onlyComputes(call *ssa.Call) bool {
	if _, ok := call.Call.Value.(*ssa.Builtin); ok {
		return true
	}
	fn := call.Call.StaticCallee()
	if fn == nil {
		return false
	}
	name := ssax.CalleeName(fn)
	return slices.ContainsFunc([]string{"strings.", "slices.", "maps.", "(time.Time)."}, func(pkg string) bool {
		return strings.HasPrefix(name, pkg)
	})
}

// variableOf is the variable of a function that an address is, or is a part of. Nil for others.
func variableOf(addr ssa.Value) *ssa.Alloc {
	for range ssax.MaxDepth {
		switch of := ssax.CellOf(addr).(type) {
		case *ssa.Alloc:
			return of
		case *ssa.FieldAddr:
			addr = of.X
		case *ssa.IndexAddr:
			addr = of.X
		default:
			return nil
		}
	}
	return nil
}

// storesTo are the assignments of a variable and of its fields in its own function.
func storesTo(cell *ssa.Alloc) (stores []*ssa.Store) {
	for _, use := range *cell.Referrers() {
		switch use := use.(type) {
		case *ssa.Store:
			if use.Addr == ssa.Value(cell) {
				stores = append(stores, use)
			}
		case *ssa.FieldAddr:
			for _, use := range *use.Referrers() {
				if st, ok := use.(*ssa.Store); ok && variableOf(st.Addr) == cell {
					stores = append(stores, st)
				}
			}
		}
	}
	return stores
}

// identity is the same for the same value, and for equal constants.
func identity(v ssa.Value) string {
	if c, ok := v.(*ssa.Const); ok {
		return c.String()
	}
	return v.Name()
}
