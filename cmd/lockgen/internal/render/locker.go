package render

import (
	"go/types"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
)

// lockerExpr is the *lockrt.Locker of a wrapper.
func (w *wrapper) lockerExpr() *jen.Statement { return w.pathOf(&w.Locker, len(w.Locker.Fields)) }

// pathOf selects the first n fields on the way to what the wrapper finds somewhere.
func (w *wrapper) pathOf(l *directive.Source, n int) *jen.Statement {
	s := jen.Id(w.rootOf(l))
	if l.From == directive.FromPackage && l.Pkg != nil {
		s = jen.Qual(l.Pkg.Path(), l.Var)
	}
	for _, field := range l.Fields[:n] {
		s.Dot(field)
	}
	return s
}

func (w *wrapper) rootOf(l *directive.Source) string {
	switch l.From {
	case directive.FromNewParam:
		return w.locks
	case directive.FromParam:
		return w.params[l.Param]
	case directive.FromReceiver:
		return w.recv
	default:
		return l.Var
	}
}

// guardSources returns an error where the locker, or the pool of the transaction, is a field behind a nil pointer. If it
// is nil itself, who is given it says so.
func (w *wrapper) guardSources(g *jen.Group) {
	checked := map[string]bool{}
	for _, from := range w.sources() {
		root := w.rootOf(from)
		var missing *jen.Statement
		for _, n := range w.pointersTo(from) {
			place := strings.Join(append([]string{root}, from.Fields[:n]...), ".")
			if checked[place] {
				continue
			}
			checked[place] = true
			if missing == nil {
				missing = w.pathOf(from, n).Op("==").Nil()
			} else {
				missing.Op("||").Add(w.pathOf(from, n)).Op("==").Nil()
			}
		}
		if missing != nil {
			path := strings.Join(append([]string{root}, from.Fields...), ".")
			failed := jen.Qual(directive.RuntimePath, "NilPointer").Call(jen.Lit(path))
			g.If(missing).Block(w.leave(failed)...)
		}
	}
}

// pointersTo are the places on the way to something that may be nil: how many fields are selected before each. The
// receiver is not among them where a key has found it already.
func (w *wrapper) pointersTo(from *directive.Source) []int {
	var found []int
	t := w.rootType(from)
	for n, field := range from.Fields {
		if t == nil {
			break
		}
		if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
			if n > 0 || from.From != directive.FromReceiver || !w.keyNeedsReceiver() {
				found = append(found, n)
			}
			t = pointer.Elem()
		}
		t = fieldType(t, field)
	}
	return found
}

func (w *wrapper) rootType(l *directive.Source) types.Type {
	switch l.From {
	case directive.FromReceiver:
		return w.Recv.Type
	case directive.FromParam:
		return w.Params[l.Param].Type
	case directive.FromPackage:
		pkg := l.Pkg
		if pkg == nil {
			pkg = w.Pkg
		}
		if v := pkg.Scope().Lookup(l.Var); v != nil {
			return v.Type()
		}
	}
	return nil
}

// keyNeedsReceiver tells whether building the keys fails for a nil receiver.
func (w *wrapper) keyNeedsReceiver() bool {
	for _, key := range w.Keys {
		for _, part := range key.Parts {
			if v := part.Value; v != nil && v.From == directive.FromReceiver && !part.Hole.Optional &&
				len(v.Steps) > 0 && v.Steps[0].Pointer {
				return true
			}
		}
	}
	return false
}

// fieldType is the type of a struct's own field, nil if it has none of that name.
func fieldType(t types.Type, name string) types.Type {
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	for field := range s.Fields() {
		if field.Name() == name {
			return field.Type()
		}
	}
	return nil
}

// Locker says where the wrapper takes its Locker from.
func Locker(u *bound.Func) string {
	w := &wrapper{function: &function{Func: u}, recv: "receiver", locks: "locks (parameter)"}
	if u.Recv != nil && u.Recv.Name != "" {
		w.recv = u.Recv.Name
	}
	for _, p := range u.Params {
		w.params = append(w.params, p.Name)
	}
	text := w.rootOf(&u.Locker)
	if l := u.Locker; l.From == directive.FromPackage && l.Pkg != nil {
		text = l.Pkg.Name() + "." + text
	}
	for _, field := range u.Locker.Fields {
		text += "." + field
	}
	return text
}
