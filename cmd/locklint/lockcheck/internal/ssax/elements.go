package ssax

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// ElementsOf are the values that a function puts into a list that it makes itself, in literals, by append and by
// assignments to an index; known is false if the list may have others.
func ElementsOf(list ssa.Value) (values []ssa.Value, known bool) {
	g := gatherer{seen: map[ssa.Value]bool{}}
	known = g.list(list)
	return g.values, known
}

// KeysOf are the keys that a function puts into a map that it makes itself.
func KeysOf(m ssa.Value) (keys []ssa.Value, known bool) {
	g := gatherer{seen: map[ssa.Value]bool{}, keys: true}
	known = g.list(m)
	return g.values, known
}

// EntriesOf are the values that a function puts into a list, or into a map, that it makes itself.
func EntriesOf(list ssa.Value) (values []ssa.Value, known bool) {
	_, isMap := list.Type().Underlying().(*types.Map)
	g := gatherer{seen: map[ssa.Value]bool{}, keys: isMap, entries: isMap}
	known = g.list(list)
	return g.values, known
}

// A gatherer follows a list, or a map, back to where it is made, through variables and appends.
type gatherer struct {
	values  []ssa.Value
	seen    map[ssa.Value]bool
	keys    bool // of a map
	entries bool // what the map holds, not its keys
}

func (g *gatherer) list(v ssa.Value) bool {
	if g.seen[v] {
		return true
	}
	g.seen[v] = true
	switch v := v.(type) {
	case *ssa.Const:
		return v.Value == nil
	case *ssa.ChangeType:
		return g.list(v.X)
	case *ssa.Phi:
		for _, e := range v.Edges {
			if !g.list(e) {
				return false
			}
		}
		return true
	case *ssa.UnOp:
		cell, ok := CellOf(v.X).(*ssa.Alloc)
		return ok && g.variable(cell)
	case *ssa.MakeSlice:
		return !g.keys && g.assigned(v)
	case *ssa.MakeMap:
		return g.keys && g.updated(v)
	case *ssa.Slice:
		return !g.keys && g.slice(v)
	case *ssa.Call:
		first, more, ok := Appended(v)
		if !ok || g.keys {
			return false
		}
		return g.list(first) && g.list(more)
	}
	return false
}

// variable gathers what is stored in a variable, and in closures over it.
func (g *gatherer) variable(cell *ssa.Alloc) bool {
	return EachCellUse(cell, func(instr ssa.Instruction, addr ssa.Value) bool {
		switch instr := instr.(type) {
		case *ssa.Store:
			return instr.Addr == addr && g.list(instr.Val)
		case *ssa.UnOp:
			if g.keys {
				return g.updated(instr)
			}
			return g.assigned(instr)
		case *ssa.DebugRef:
			return true
		}
		return false
	})
}

// assigned gathers what is assigned to an index of a list.
func (g *gatherer) assigned(list ssa.Value) bool {
	for _, instr := range *list.Referrers() {
		at, ok := instr.(*ssa.IndexAddr)
		if !ok {
			continue
		}
		for _, use := range *at.Referrers() {
			if st, ok := use.(*ssa.Store); ok && st.Addr == ssa.Value(at) {
				g.values = append(g.values, st.Val)
			}
		}
	}
	return true
}

// updated gathers the keys that a map is given.
func (g *gatherer) updated(m ssa.Value) bool {
	for _, instr := range *m.Referrers() {
		up, ok := instr.(*ssa.MapUpdate)
		switch {
		case !ok || up.Map != m:
		case g.entries:
			g.values = append(g.values, up.Value)
		default:
			g.values = append(g.values, up.Key)
		}
	}
	return true
}

func (g *gatherer) slice(v *ssa.Slice) bool {
	if elems, ok := Variadic(v); ok {
		g.values = append(g.values, elems...)
		return true
	}
	if array, ok := v.X.(*ssa.Alloc); ok {
		return g.assigned(array)
	}
	return g.list(v.X) // a part of the list
}

// ListOf is the list or the map that a value has been taken out of, nil for other values.
func ListOf(v ssa.Value) ssa.Value {
	switch v := SoleValue(v).(type) {
	case *ssa.Extract:
		switch of := v.Tuple.(type) {
		case *ssa.Next:
			if over, ok := of.Iter.(*ssa.Range); ok && v.Index == 2 {
				return over.X
			}
		case *ssa.Lookup:
			if v.Index == 0 {
				return of.X
			}
		}
	case *ssa.Lookup:
		return v.X
	case *ssa.UnOp:
		if at, ok := v.X.(*ssa.IndexAddr); ok {
			return at.X
		}
	}
	return nil
}

// IsElement reports whether a value is what a loop has taken out of a list or a map.
func IsElement(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.MakeInterface:
		return IsElement(v.X)
	case *ssa.Extract:
		_, ok := v.Tuple.(*ssa.Next)
		return ok
	case *ssa.UnOp:
		at, ok := v.X.(*ssa.IndexAddr)
		return ok && isVariable(at.Index)
	}
	return false
}

func isVariable(index ssa.Value) bool {
	_, isConst := index.(*ssa.Const)
	return !isConst
}
