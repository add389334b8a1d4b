package directive

import "go/types"

// selectField finds a field of a value of type t. The steps write embedded fields out, because a nil pointer may hide
// in each; one that this package cannot name is left to promotion. The type is nil if there is no such field; obj is
// then the method of that name, if there is one.
func (b *binder) selectField(t types.Type, name string) (steps []Step, field types.Type, obj types.Object) {
	obj, index, _ := types.LookupFieldOrMethod(t, true, b.Pkg, name)
	if _, ok := obj.(*types.Var); !ok {
		return nil, nil, obj
	}
	var hidden *Step // what the field is selected from, if that has no name here
	for _, i := range index {
		pointer := false
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t, pointer = p.Elem(), true
		}
		s, ok := t.Underlying().(*types.Struct)
		if !ok {
			return nil, nil, nil // a field common to a type parameter's types: Go does not select it either
		}
		f := s.Field(i)
		step := Step{Name: f.Name(), Pointer: pointer}
		if hidden != nil {
			step.Pointer, step.Unchecked = hidden.Pointer, hidden.Unchecked || pointer
		}
		t, hidden = f.Type(), nil
		if b.canName(f) {
			steps = append(steps, step)
		} else {
			hidden = &step
		}
	}
	return steps, t, obj
}

// canName reports whether this package can select the field. Packages are compared by path: a generator may have
// checked the same one twice.
func (b *binder) canName(f *types.Var) bool {
	return f.Exported() || b.Pkg != nil && f.Pkg().Path() == b.Pkg.Path()
}

// unknown reports whether a type, or what it points to, is not there: not checked, or not generated yet.
func unknown(t types.Type) bool {
	if t == nil {
		return true
	}
	elem, _ := deref(t)
	return types.Unalias(elem) == types.Typ[types.Invalid]
}

// mayPromote reports whether a struct embeds a type that is not there, so that a field not found proves nothing.
func (b *binder) mayPromote(t types.Type) bool {
	for _, f := range b.fields(t) {
		if f.Embedded() && unknown(f.Type()) {
			return true
		}
	}
	return false
}

// fieldNames is the fields that this package can select from a value of type t, those of embedded structs included as
// far as one level: deeper ones are hardly what was meant.
func (b *binder) fieldNames(t types.Type) []string {
	var names []string
	for _, f := range b.fields(t) {
		names = append(names, f.Name())
		if f.Embedded() {
			for _, promoted := range b.fields(f.Type()) {
				names = append(names, promoted.Name())
			}
		}
	}
	return names
}

func (b *binder) fields(t types.Type) []*types.Var {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	var fields []*types.Var
	for f := range s.Fields() {
		if b.canName(f) {
			fields = append(fields, f)
		}
	}
	return fields
}
