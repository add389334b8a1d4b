package directive

import (
	"go/types"
	"slices"
)

// key resolves the placeholders of a key and checks that what follows each ends it.
func (b *binder) key(k *Key) *BoundKey {
	bound := &BoundKey{Key: k}
	if k.Template == nil {
		return bound
	}
	for _, part := range k.Template.Parts {
		switch part := part.(type) {
		case *Text:
			bound.Parts = append(bound.Parts, BoundPart{Text: part.Value})
			b.separates(bound.Parts, part)
		case *Placeholder:
			bound.Parts = append(bound.Parts, BoundPart{Hole: part, Value: b.value(part)})
		}
	}
	return bound
}

// separates checks the literal at the end of parts against the value before it: a value ends where the first character
// comes that it cannot contain, so that is what the literal has to start with.
func (b *binder) separates(parts []BoundPart, text *Text) {
	if len(parts) < 2 {
		return
	}
	before := parts[len(parts)-2]
	if before.Value == nil {
		return
	}
	first := text.Value[0]
	if !before.Value.mayContain(before.Hole, first) {
		return
	}
	b.add(text.Pos, text.End, "collision",
		"the value of %s may contain %q, so two different values could give the same key: start the text after it with "+
			"another character, such as %s",
		before.Hole, first, shown(before.Hole.String()+":"))
}

// value resolves a placeholder, nil if it cannot be resolved or its type has no text.
func (b *binder) value(hole *Placeholder) *Value {
	root := hole.Path[0]
	from, index, p := b.root(root.Name)
	if p == nil {
		b.unknownRoot(hole)
		return nil
	}
	switch p.Role {
	case RoleFence, RoleLease, RoleTx:
		b.add(root.Pos, root.End, "too-early",
			"%s comes from the lock that %s is the key of: take a parameter that the caller passes", root.Name, hole)
		return nil
	case RoleContext:
		b.add(root.Pos, root.End, "type", "%s is the context, which has no text: take a parameter that says what is locked",
			root.Name)
		return nil
	}
	v := &Value{From: from, Param: index}
	t := b.types[p]
	for i, id := range hole.Path[1:] {
		if unknown(t) || b.Pkg == nil {
			b.f.NeedsTypes = true
			return nil
		}
		steps, next, obj := b.selectField(t, id.Name)
		switch {
		case next != nil:
		case b.mayPromote(t):
			b.f.NeedsTypes = true
			return nil
		default:
			b.noField(hole, i+1, t, obj)
			return nil
		}
		if b.unchecked(hole, i+1, t, steps) {
			return nil
		}
		_, index, _ := types.LookupFieldOrMethod(t, true, b.Pkg, id.Name)
		v.Promoted = v.Promoted || len(index) > 1
		v.Steps = append(v.Steps, steps...)
		t = next
	}
	return b.classified(v, hole, t, p)
}

// unchecked reports a field behind an embedded pointer that this package cannot compare with nil: reading it could
// panic.
func (b *binder) unchecked(hole *Placeholder, i int, t types.Type, steps []Step) bool {
	for _, s := range steps {
		if s.Unchecked {
			id := hole.Path[i]
			b.add(id.Pos, id.End, "parameter",
				"%s has type %s, whose field %s is behind an embedded pointer that only its own package can check for nil: take "+
					"a parameter that the caller passes",
				pathUpTo(hole, i), typeString(b.Pkg, t), id.Name)
			return true
		}
	}
	return false
}

// hollow reports whether a type is declared as one that is not known, such as C.size_t, and has no method that gives its
// text either. To go/types it has every method.
func (b *binder) hollow(t types.Type) bool {
	elem, _ := deref(t)
	if elem.Underlying() != types.Typ[types.Invalid] {
		return false
	}
	for _, name := range []string{"MarshalText", "String"} {
		if obj, _, _ := types.LookupFieldOrMethod(t, true, b.Pkg, name); obj != nil {
			return false
		}
	}
	return true
}

// classified finds out how a value of type t becomes text.
func (b *binder) classified(v *Value, hole *Placeholder, t types.Type, p *Param) *Value {
	if unknown(t) || b.hollow(t) {
		b.f.NeedsTypes = true
		return nil
	}
	if p.Type != nil {
		v.Type = t
	}
	slug, reason := classify(v, hole, t)
	if reason == "" {
		return v
	}
	pos, end := hole.Path[0].Pos, hole.Path[len(hole.Path)-1].End
	if slug == "filter" {
		pos, end = hole.FilterPos, hole.End-1
	}
	written := typeString(b.Pkg, t)
	if p.Type == nil {
		written = p.Text() // t only stands in for it
	}
	problem := b.add(pos, end, slug, "%s has type %s, and %s", pathUpTo(hole, len(hole.Path)), written, reason)
	if reason == noTime && hole.Filter == FilterNone {
		problem.replace(hole.End-1, hole.End-1, "|unix")
	}
	return nil
}

// unknownRoot reports a placeholder whose first name is no parameter and no receiver.
func (b *binder) unknownRoot(hole *Placeholder) {
	root := hole.Path[0]
	names := slices.DeleteFunc(b.roots(), func(n string) bool { return n == "" })
	guess := ""
	if r := b.f.Recv; r != nil && r.Name != "" && r.Type != nil && slices.Contains(b.fieldNames(r.Type), root.Name) {
		guess = r.Name + "." + root.Name
	}
	if guess == "" {
		guess = Nearest(root.Name, names)
	}
	why := "it has none with a name"
	if len(names) > 0 {
		why = "it has " + and(names)
	}
	if b.isResult(root.Name) {
		why = root.Name + " is a result, which exists only after the call"
	}
	problem := b.add(root.Pos, root.End, "parameter", "%s has no parameter or receiver %s, %s%s", b.fn(), root.Name, why,
		didYouMean(guess))
	if guess != "" {
		problem.write(guess)
	}
}

func and(names []string) string {
	if len(names) == 1 {
		return "only " + names[0]
	}
	return oneOfWith(names, " and ")
}

func (b *binder) isResult(name string) bool {
	if b.Decl.Type.Results == nil {
		return false
	}
	for _, field := range b.Decl.Type.Results.List {
		for _, id := range field.Names {
			if id.Name == name {
				return true
			}
		}
	}
	return false
}

// noField reports the i-th name of a path, which is no field of type t.
func (b *binder) noField(hole *Placeholder, i int, t types.Type, obj types.Object) {
	id := hole.Path[i]
	if fn, ok := obj.(*types.Func); ok {
		b.add(id.Pos, id.End, "method",
			"%s is a method of %s, and nothing may run before the lock is taken: take a field, or a parameter that the caller "+
				"computes",
			fn.Name(), typeString(b.Pkg, t))
		return
	}
	guess := Nearest(id.Name, b.fieldNames(t))
	problem := b.add(id.Pos, id.End, "parameter", "%s has type %s, which has no field %s that this package can read%s",
		pathUpTo(hole, i), typeString(b.Pkg, t), id.Name, didYouMean(guess))
	if guess != "" {
		problem.write(guess)
	}
}

func pathUpTo(hole *Placeholder, i int) string {
	return (&Placeholder{Path: hole.Path[:i]}).Name()
}
