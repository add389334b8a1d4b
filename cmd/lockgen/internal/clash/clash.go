package clash

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/load/decls"
)

// clashesElsewhere finds names of wrappers that a file declares which is not built where lockgen looks, and yet is
// built together with the wrapper somewhere: under another system or tag, or in tests.
func (c *finder) clashesElsewhere() {
	for _, u := range c.Funcs {
		if u.Name != u.Decl.Name.Name { // or it has been reported
			c.clashElsewhere(u, u.Name, "choose another name with func=")
			c.clashInTests(u, u.Name)
		}
		if u.Directive.Cron != nil {
			c.clashElsewhere(u, bound.RegisterName, "rename that one, lockgen needs the name to register jobs")
			c.clashInTests(u, bound.RegisterName)
		}
	}
}

func (c *finder) clashElsewhere(u *bound.Func, name, remedy string) {
	for _, path := range c.Folder(u).Paths() {
		file := c.Files.Parse(path)
		if file == nil || file.Name.Name != u.File.Name.Name {
			continue
		}
		dotted := ""
		if u.Recv == nil && token.IsExported(name) {
			dotted = c.dotDeclares(u, file, name)
		}
		imported := u.Recv == nil && importsAs(file, name)
		if dotted == "" && !imported && !declares(file, u.RecvType, name) {
			continue
		}
		other, err := c.SetOfFile(path)
		if err != nil {
			continue // somebody else reports it
		}
		if !c.Built(u.Set.Constraint, other.Constraint) {
			continue
		}
		where := filepath.Base(path)
		if text := other.BuildText(); text != "" {
			where += " (built for " + text + ")"
		}
		does, remedy := "declares it already", remedy
		switch {
		case dotted != "":
			does = "has it from " + dotted + ", which it imports with a dot"
			remedy = "import that package by its name, or " + remedy
		case imported:
			does = "imports a package of that name"
		}
		c.found = append(c.found, u.At(c.Files.Fset, "name-clash", "%s is to be generated for %s, and %s %s: %s", name,
			u.Decl.Name.Name, where, does, remedy))
	}
}

// declares tells whether a file declares a name: of the package, or of a type as its field or method.
func declares(file *ast.File, owner, name string) bool {
	for _, decl := range file.Decls {
		switch {
		case owner == "":
			if slices.Contains(decls.Declared(decl), name) {
				return true
			}
		case declaresMember(decl, owner, name):
			return true
		}
	}
	return false
}

// importsAs tells whether a file imports a package by a name, which then no file of the package may declare. An import
// that has its name from the package's own clause counts if the file uses that name.
func importsAs(file *ast.File, name string) bool {
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		switch {
		case err != nil:
		case spec.Name != nil && spec.Name.Name == name:
			return true
		case spec.Name == nil && directive.LikelyName(path) == name && qualifies(file, name):
			return true
		}
	}
	return false
}

func qualifies(file *ast.File, name string) bool {
	found := false
	ast.Inspect(file, func(node ast.Node) bool {
		if sel, ok := node.(*ast.SelectorExpr); ok {
			x, ok := sel.X.(*ast.Ident)
			found = found || ok && x.Name == name
		}
		return !found
	})
	return found
}

func declaresMember(decl ast.Decl, owner, name string) bool {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		return decl.Recv != nil && len(decl.Recv.List) == 1 && decl.Name.Name == name &&
			directive.ReceiverBase(decl.Recv.List[0].Type) == owner
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			spec, ok := spec.(*ast.TypeSpec)
			if !ok || spec.Name.Name != owner {
				continue
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					if slices.Contains(directive.IdentNames(field.Names), name) ||
						len(field.Names) == 0 && directive.ReceiverBase(field.Type) == name {
						return true
					}
				}
			}
		}
	}
	return false
}
