package ssax

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// This file knows method values: unlock := m.Unlock, in a variable or in a field of a struct that the function makes
// and keeps to itself.

// BoundMethod is the method that a function value is, and the value it is bound to. ok is false for other functions,
// and where nobody knows which it is.
func BoundMethod(v ssa.Value) (method *types.Func, recv ssa.Value, ok bool) {
	mc, isClosure := sourceOf(v).(*ssa.MakeClosure)
	if !isClosure || len(mc.Bindings) != 1 {
		return nil, nil, false
	}
	fn, isFunc := mc.Fn.(*ssa.Function)
	if !isFunc || fn.Synthetic == "" {
		return nil, nil, false
	}
	method, ok = fn.Object().(*types.Func)
	if !ok || method.Signature().Recv() == nil {
		return nil, nil, false
	}
	return method.Origin(), mc.Bindings[0], true
}

// sourceOf is what a function value was before it went into a variable or a field that holds nothing else.
func sourceOf(v ssa.Value) ssa.Value {
	for range MaxDepth {
		switch x := SoleValue(v).(type) {
		case *ssa.ChangeType:
			v = x.X
		case *ssa.UnOp:
			set := FieldValue(x)
			if set == nil {
				return x
			}
			v = set
		default:
			return x
		}
	}
	return v
}

// FieldValue is what a function reads from a field of a struct that it makes and keeps to itself, if it sets the
// field once. Nil otherwise.
func FieldValue(load *ssa.UnOp) ssa.Value {
	field, ok := load.X.(*ssa.FieldAddr)
	if !ok {
		return nil
	}
	return SetOnce(field)
}

// SetOnce is what a field of a struct is set to, if nobody sees the struct but the function that makes it, which sets
// the field once, and literals that it calls or defers. Nil otherwise.
func SetOnce(field *ssa.FieldAddr) ssa.Value {
	made, ok := CellOf(field.X).(*ssa.Alloc)
	if !ok {
		return nil
	}
	fields := fieldsOf{index: field.Field, seen: map[*ssa.Alloc]bool{}}
	if !fields.gather(made) || len(fields.set) != 1 {
		return nil
	}
	return fields.set[0]
}

// fieldsOf gathers what one field of a struct is set to, and what is read from it. A literal is made in one place and
// copied to another as a whole.
type fieldsOf struct {
	index int
	seen  map[*ssa.Alloc]bool
	set   []ssa.Value
	loads []*ssa.UnOp
}

// gather is false if somebody else may see the struct.
func (g *fieldsOf) gather(made *ssa.Alloc) bool {
	if g.seen[made] {
		return true
	}
	g.seen[made] = true
	return g.uses(made)
}

// uses looks at what is done with a struct under one of its names: literals have their own.
func (g *fieldsOf) uses(made ssa.Value) bool {
	for _, use := range *made.Referrers() {
		ok := false
		switch use := use.(type) {
		case *ssa.DebugRef:
			ok = true
		case *ssa.FieldAddr:
			ok = g.field(use)
		case *ssa.Store:
			ok = use.Addr == made && g.copied(use)
		case *ssa.UnOp:
			ok = g.copies(use)
		case *ssa.MakeClosure:
			ok = g.captured(use, made)
		}
		if !ok {
			return false
		}
	}
	return true
}

// captured looks into a literal that is only called or deferred, and sets nothing.
func (g *fieldsOf) captured(mc *ssa.MakeClosure, made ssa.Value) bool {
	lit, ok := mc.Fn.(*ssa.Function)
	if !ok || !RunsInPlace(mc) {
		return false
	}
	for i, b := range mc.Bindings {
		if b == made && !g.uses(lit.FreeVars[i]) {
			return false
		}
	}
	return true
}

// field looks at what is done with the address of a field.
func (g *fieldsOf) field(field *ssa.FieldAddr) bool {
	for _, use := range *field.Referrers() {
		switch use := use.(type) {
		case *ssa.DebugRef:
		case *ssa.Store:
			if _, captured := field.X.(*ssa.FreeVar); captured || use.Addr != ssa.Value(field) {
				return false
			}
			if field.Field == g.index {
				g.set = append(g.set, use.Val)
			}
		case *ssa.UnOp:
			if field.Field == g.index {
				g.loads = append(g.loads, use)
			}
		default:
			return false
		}
	}
	return true
}

// copied follows a struct that is set as a whole back to the literal.
func (g *fieldsOf) copied(st *ssa.Store) bool {
	load, ok := st.Val.(*ssa.UnOp)
	if !ok {
		return false
	}
	from, ok := load.X.(*ssa.Alloc)
	return ok && g.gather(from)
}

// copies follows a struct that is read as a whole to the variable that it is put into.
func (g *fieldsOf) copies(load *ssa.UnOp) bool {
	for _, use := range *load.Referrers() {
		st, ok := use.(*ssa.Store)
		if !ok || st.Val != ssa.Value(load) {
			return false
		}
		to, ok := st.Addr.(*ssa.Alloc)
		if !ok || !g.gather(to) {
			return false
		}
	}
	return true
}

// RunsInPlace reports whether a literal is only called or deferred where it stands.
func RunsInPlace(mc *ssa.MakeClosure) bool {
	for _, instr := range *mc.Referrers() {
		switch instr := instr.(type) {
		case *ssa.Call:
			if instr.Call.Value != mc || slices.Contains(instr.Call.Args, ssa.Value(mc)) {
				return false
			}
		case *ssa.Defer:
			if instr.Call.Value != mc || slices.Contains(instr.Call.Args, ssa.Value(mc)) {
				return false
			}
		case *ssa.DebugRef:
		default:
			return false
		}
	}
	return true
}

// OnlyCalled reports whether a function value is called where it is made, or by way of variables of the same
// function, and goes nowhere else.
func OnlyCalled(v ssa.Value) bool { return onlyCalled(v, 0) }

func onlyCalled(v ssa.Value, depth int) bool {
	if depth > MaxDepth {
		return false
	}
	for _, use := range *v.Referrers() {
		switch use := use.(type) {
		case *ssa.DebugRef:
		case *ssa.Call:
			if use.Call.Value != v {
				return false
			}
		case *ssa.Defer:
			if use.Call.Value != v {
				return false
			}
		case *ssa.ChangeType:
			if !onlyCalled(use, depth+1) {
				return false
			}
		case *ssa.Store:
			field, ok := use.Addr.(*ssa.FieldAddr)
			if !ok || !loadsCalled(field, depth) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// loadsCalled reports whether a field of a struct that nobody else sees is set once, and what is read from it only
// called.
func loadsCalled(field *ssa.FieldAddr, depth int) bool {
	made, ok := field.X.(*ssa.Alloc)
	if !ok {
		return false
	}
	g := fieldsOf{index: field.Field, seen: map[*ssa.Alloc]bool{}}
	if !g.gather(made) || len(g.set) != 1 {
		return false
	}
	for _, load := range g.loads {
		if !onlyCalled(load, depth+1) {
			return false
		}
	}
	return true
}
