package clash

import (
	"go/ast"
	"go/build"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/load/decls"
)

// typesElsewhere reports what a wrapper reads of a type which is another one under other build constraints: a key's value,
// the locker, the pool of a transaction. The function is built under both, its wrapper is generated once.
func (c *finder) typesElsewhere() {
	for _, u := range c.Funcs {
		for _, key := range u.Keys {
			for _, part := range key.Parts {
				if part.Value != nil {
					c.valueElsewhere(u, part)
				}
			}
		}
		c.sourceElsewhere(u, "the locker", &u.Locker)
		if u.Tx != nil {
			c.sourceElsewhere(u, "the pool of the transaction", u.Tx)
		}
	}
}

func (c *finder) valueElsewhere(u *bound.Func, part directive.BoundPart) {
	root := u.Recv
	if part.Value.From == directive.FromParam {
		root = u.Params[part.Value.Param]
	}
	if root == nil || root.Variadic {
		return
	}
	c.typeElsewhere(u, "type", "the value of "+part.Hole.String(), root.Expr, part.Value.Steps, wayOf(part.Value.Kind))
}

// wayOf tells types apart as far as the code for a kind of value does.
func wayOf(k directive.Kind) func(ast.Expr, *ast.File) string {
	switch k {
	case directive.KindText, directive.KindStringer:
		return func(ast.Expr, *ast.File) string { return "" } // a method is called
	case directive.KindLen:
		return func(e ast.Expr, file *ast.File) string {
			switch e.(type) {
			case *ast.ArrayType, *ast.MapType, *ast.ChanType:
				return "len"
			}
			return spelled(e, file)
		}
	}
	return writtenAs
}

func (c *finder) sourceElsewhere(u *bound.Func, what string, from *directive.Source) {
	root := u.Recv
	if from.From == directive.FromParam {
		root = u.Params[from.Param]
	}
	if root == nil || from.From == directive.FromPackage || len(from.Fields) == 0 {
		return
	}
	var steps []directive.Step
	for _, name := range from.Fields {
		steps = append(steps, directive.Step{Name: name})
	}
	c.typeElsewhere(u, "locker", what, root.Expr, steps, spelled)
}

// typeElsewhere follows fields through the declarations of their types. Where there are several, the types that are read
// of them must be the same, as same writes them.
func (c *finder) typeElsewhere(
	u *bound.Func, kind, what string, expr ast.Expr, steps []directive.Step, same func(ast.Expr, *ast.File) string,
) {
	at := place{u.Dir, u.Pkg, u.File}
	for range 20 { // more are a circle
		name, in := c.named(at, expr)
		found := c.typeSpecs(u, name, in)
		if len(found) == 0 {
			return
		}
		first := found[0]
		expr, at = readOf(first.spec, steps), place{in.dir, in.pkg, first.file}
		for _, other := range found[1:] {
			x := readOf(other.spec, steps)
			if expr != nil && x != nil && same(expr, first.file) == same(x, other.file) {
				continue
			}
			remedy := "declare the type once, or move the function beside each of them"
			if in.dir != u.Dir {
				name, remedy = in.pkg.Name()+"."+name, "take a parameter of a type that is the same "+
					"everywhere, or put the function under a build constraint"
			}
			c.found = append(c.found, u.At(c.Files.Fset, kind, "%s has one type %s in %s and another in %s, and %s is "+
				"generated once for both: %s", what, name, files.Name(first.at), files.Name(other.at), u.Name, remedy))
			return
		}
		if _, ok := first.spec.Type.(*ast.StructType); ok {
			if len(steps) == 0 {
				return
			}
			steps = steps[1:]
		}
	}
}

// A place is where a type expression stands.
type place struct {
	dir  string
	pkg  *types.Package
	file *ast.File
}

// A placedType is a declaration of a type, and where it is built.
type placedType struct {
	spec *ast.TypeSpec
	file *ast.File
	at   string // the file
}

// named is the name of the type that an expression is, or points to, and the package that declares it; "" for others.
func (c *finder) named(at place, e ast.Expr) (string, place) {
	sel, ok := base(e).(*ast.SelectorExpr)
	if !ok {
		return localName(e), at
	}
	pkg, dir := c.Files.Qualified(sel, at.file, at.pkg)
	if pkg == nil {
		return "", at // nothing depends on its declarations
	}
	return sel.Sel.Name, place{dir: dir, pkg: pkg}
}

// base is a type without pointers and type arguments.
func base(e ast.Expr) ast.Expr {
	switch e := ast.Unparen(e).(type) {
	case *ast.StarExpr:
		return base(e.X)
	case *ast.IndexExpr:
		return base(e.X)
	case *ast.IndexListExpr:
		return base(e.X)
	default:
		return e
	}
}

// localName is the type of this package that an expression is, or points to; "" for others.
func localName(e ast.Expr) string {
	if ident, ok := base(e).(*ast.Ident); ok {
		return ident.Name
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

// spelled is a type with import paths in the place of what a file calls packages.
func spelled(e ast.Expr, file *ast.File) string {
	return qualifier.ReplaceAllStringFunc(types.ExprString(e), func(name string) string {
		for _, spec := range file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			called := directive.LikelyName(path)
			switch {
			case spec.Name != nil:
				called = spec.Name.Name
			case path == directive.RuntimePath:
				called = "lockrt"
			}
			if called+"." == name {
				return path + "."
			}
		}
		return name
	})
}

var qualifier = regexp.MustCompile(`\b\w+\.`)

// writtenAs is what a type's values have in common in keys: all signed integers are written alike, and so on.
func writtenAs(e ast.Expr, file *ast.File) string {
	text := spelled(e, file)
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

// typeSpecs are the declarations of a type in the files of a package. If there are several, they are those that are
// somewhere built together with a function.
func (c *finder) typeSpecs(u *bound.Func, name string, in place) []placedType {
	var found []placedType
	if name == "" {
		return nil
	}
	for _, path := range c.pathsOf(u, name, in.dir) {
		file := c.Files.Parse(path)
		if file == nil || in.dir == u.Dir && file.Name.Name != u.File.Name.Name {
			continue
		}
		if spec := decls.TypeSpec(file, name); spec != nil {
			found = append(found, placedType{spec, file, path})
		}
	}
	if len(found) < 2 {
		return found
	}
	found = slices.DeleteFunc(found, func(t placedType) bool {
		other, err := c.SetOfFile(t.at)
		if err != nil || other.Test && !u.Set.Test {
			return true
		}
		return !c.Built(u.Set.Constraint, other.Constraint)
	})
	for i := range found {
		found[i].at = filepath.Base(found[i].at)
		if in.dir != u.Dir {
			found[i].at = in.pkg.Path() + "/" + found[i].at
		}
	}
	return found
}

// pathsOf are the files that may declare a type. Of the standard library only package syscall has other types on other
// systems.
func (c *finder) pathsOf(u *bound.Func, name, dir string) []string {
	if dir == u.Dir {
		return c.Folder(u).Paths()
	}
	std := filepath.Join(build.Default.GOROOT, "src")
	if rel, err := filepath.Rel(std, dir); err == nil && filepath.IsLocal(rel) && rel != "syscall" {
		return nil
	}
	all, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	mention := regexp.MustCompile(`(?m)^(?:type |\t)` + regexp.QuoteMeta(name) + `\b`)
	return slices.DeleteFunc(all, func(path string) bool {
		content, err := files.Read(path)
		return err != nil || strings.HasSuffix(path, "_test.go") || !mention.Match(content)
	})
}
