package gen

import (
	"go/types"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// lockerExpr is the *lockrt.Locker of a wrapper.
func (w *wrapper) lockerExpr() *jen.Statement { return w.lockerPath(len(w.Locker.Fields)) }

// lockerPath selects the first n fields on the way to the locker.
func (w *wrapper) lockerPath(n int) *jen.Statement {
	s := jen.Id(w.lockerRoot())
	if l := w.Locker; l.From == directive.FromPackage && l.Pkg != nil {
		s = jen.Qual(l.Pkg.Path(), l.Var)
	}
	for _, field := range w.Locker.Fields[:n] {
		s.Dot(field)
	}
	return s
}

func (w *wrapper) lockerRoot() string {
	switch l := w.Locker; l.From {
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

// guardLocker returns an error where the locker is a field behind a nil pointer. The locker itself says so if it is nil.
func (w *wrapper) guardLocker(g *jen.Group) {
	var missing *jen.Statement
	for _, n := range w.lockerPointers() {
		if missing == nil {
			missing = w.lockerPath(n).Op("==").Nil()
		} else {
			missing.Op("||").Add(w.lockerPath(n)).Op("==").Nil()
		}
	}
	if missing == nil {
		return
	}
	path := strings.Join(append([]string{w.lockerRoot()}, w.Locker.Fields...), ".")
	failed := jen.Qual(runtimePath, "NilPointer").Call(jen.Lit(path))
	g.If(missing).Block(jen.Return(w.returns(failed)...))
}

// lockerPointers are the places on the way to the locker that may be nil: how many fields are selected before each. The
// receiver is not among them where a key has found it already.
func (w *wrapper) lockerPointers() []int {
	var found []int
	t := w.lockerRootType()
	for n, field := range w.Locker.Fields {
		if t == nil {
			break
		}
		if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
			if n > 0 || w.Locker.From != directive.FromReceiver || !w.keyNeedsReceiver() {
				found = append(found, n)
			}
			t = pointer.Elem()
		}
		t = fieldType(t, field)
	}
	return found
}

func (w *wrapper) lockerRootType() types.Type {
	switch l := w.Locker; l.From {
	case directive.FromReceiver:
		return w.Recv.Type
	case directive.FromParam:
		return w.Params[l.Param].Type
	case directive.FromPackage:
		pkg := l.Pkg
		if pkg == nil {
			pkg = w.pkg
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
