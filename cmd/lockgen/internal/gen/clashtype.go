package gen

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"

	"github.com/lockgen/lockgen/cmd/internal/constraints"
	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// typesElsewhere reports keys that read a type of the package which is another one under other build constraints. The
// function is built under both, its wrapper is generated once.
func (g *generator) typesElsewhere() {
	for _, u := range g.units {
		for _, key := range u.Keys {
			for _, part := range key.Parts {
				if part.Value != nil {
					g.typeElsewhere(u, part)
				}
			}
		}
	}
}

// A placedType is a declaration of a type, and where it is built.
type placedType struct {
	spec *ast.TypeSpec
	at   string // the file
}

// typeElsewhere follows the fields of a placeholder through the declarations of their types.
func (g *generator) typeElsewhere(u *unit, part directive.BoundPart) {
	root := u.Recv
	if part.Value.From == directive.FromParam {
		root = u.Params[part.Value.Param]
	}
	if root == nil || root.Variadic {
		return
	}
	steps, expr := part.Value.Steps, root.Expr
	for depth := 0; depth < 20; depth++ {
		name := localName(expr)
		if name == "" {
			return
		}
		found := g.typeSpecs(u, name)
		if len(found) == 0 {
			return
		}
		first := found[0]
		expr = readOf(first.spec, steps)
		for _, other := range found[1:] {
			if x := readOf(other.spec, steps); expr == nil || x == nil || writtenAs(expr) != writtenAs(x) {
				g.problems = append(g.problems, u.at(g.files.fset, "type", "the value of %s has one type %s in %s and another in %s, "+
					"and %s is generated once for both: declare the type once, or move the function beside each of them",
					part.Hole, name, first.at, other.at, u.Name))
				return
			}
		}
		if _, ok := first.spec.Type.(*ast.StructType); ok {
			if len(steps) == 0 {
				return
			}
			steps = steps[1:]
		}
	}
}

// localName is the type of this package that an expression is, or points to; "" for others.
func localName(e ast.Expr) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.StarExpr:
		return localName(e.X)
	case *ast.IndexExpr:
		return localName(e.X)
	case *ast.IndexListExpr:
		return localName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// readOf is what is read of a declared type: the next field's type, or the type itself. Nil if that is not to be seen. A
// struct that is read as a whole is so through a method.
func readOf(spec *ast.TypeSpec, steps []directive.Step) ast.Expr {
	s, isStruct := spec.Type.(*ast.StructType)
	switch {
	case !isStruct:
		return spec.Type
	case len(steps) == 0:
		return &ast.StructType{Fields: &ast.FieldList{}}
	}
	for _, field := range s.Fields.List {
		for _, name := range field.Names {
			if name.Name == steps[0].Name {
				return field.Type
			}
		}
		if len(field.Names) == 0 && directive.ReceiverBase(field.Type) == steps[0].Name {
			return field.Type
		}
	}
	return nil
}

// writtenAs is what a type's values have in common in keys: all signed integers are written alike, and so on.
func writtenAs(e ast.Expr) string {
	text := types.ExprString(e)
	obj, ok := types.Universe.Lookup(text).(*types.TypeName)
	if !ok {
		return text
	}
	basic, ok := obj.Type().Underlying().(*types.Basic)
	switch {
	case !ok:
		return text
	case basic.Info()&types.IsUnsigned != 0:
		return "uint"
	case basic.Info()&types.IsInteger != 0:
		return "int"
	}
	return text
}

// typeSpecs are the declarations of a type in the files of a unit's package. If there are several, they are those that are
// somewhere built together with it.
func (g *generator) typeSpecs(u *unit, name string) []placedType {
	var found []placedType
	for _, path := range u.folder.paths() {
		file := g.files.parse(path)
		if file == nil || file.Name.Name != u.file.Name.Name {
			continue
		}
		if spec := typeSpec(file, name); spec != nil {
			found = append(found, placedType{spec, path})
		}
	}
	if len(found) < 2 {
		return found
	}
	found = slices.DeleteFunc(found, func(t placedType) bool {
		other, err := g.setOfFile(t.at)
		if err != nil || other.test && !u.set.test {
			return true
		}
		_, ok := platformFor(constraints.And(u.set.constraint, other.constraint), g.cfg.home)
		return !ok
	})
	for i := range found {
		found[i].at = filepath.Base(found[i].at)
	}
	return found
}

func typeSpec(file *ast.File, name string) *ast.TypeSpec {
	for _, decl := range file.Decls {
		if gen, ok := decl.(*ast.GenDecl); ok {
			for _, spec := range gen.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok && t.Name.Name == name {
					return t
				}
			}
		}
	}
	return nil
}
