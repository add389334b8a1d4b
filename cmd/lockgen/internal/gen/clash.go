package gen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/lockgen/lockgen/cmd/internal/constraints"
	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// clashesElsewhere finds names of wrappers that a file declares which is not built where lockgen looks, and yet is
// built together with the wrapper somewhere: under another system or tag, or in tests.
func (g *generator) clashesElsewhere() {
	for _, u := range g.units {
		if u.Name != u.Decl.Name.Name { // or it has been reported
			g.clashElsewhere(u, u.Name, "choose another name with func=")
			g.clashInTests(u, u.Name)
		}
		if u.Directive.Cron != nil {
			g.clashElsewhere(u, registerName, "rename that one, lockgen needs the name to register jobs")
			g.clashInTests(u, registerName)
		}
	}
}

func (g *generator) clashElsewhere(u *unit, name, remedy string) {
	for _, path := range u.folder.paths() {
		file := g.files.parse(path)
		if file == nil || file.Name.Name != u.file.Name.Name {
			continue
		}
		dotted := ""
		if u.Recv == nil && token.IsExported(name) {
			dotted = g.dotDeclares(u, file, name)
		}
		imported := u.Recv == nil && importsAs(file, name)
		if dotted == "" && !imported && !declares(file, u.RecvType, name) {
			continue
		}
		other, err := g.setOfFile(path)
		if err != nil {
			continue // somebody else reports it
		}
		together := constraints.And(u.set.constraint, other.constraint)
		if _, ok := platformFor(together, g.cfg.home); !ok {
			continue
		}
		where := filepath.Base(path)
		if text := other.buildText(); text != "" {
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
		g.problems = append(g.problems, u.at(g.files.fset, "name-clash", "%s is to be generated for %s, and %s %s: %s", name,
			u.Decl.Name.Name, where, does, remedy))
	}
}

// setOfFile reads the constraints of a file, which parsing it for its declarations left out.
func (g *generator) setOfFile(path string) (set, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return set{}, err
	}
	return setOf(filepath.Base(path), file), nil
}

// declares tells whether a file declares a name: of the package, or of a type as its field or method.
func declares(file *ast.File, owner, name string) bool {
	for _, decl := range file.Decls {
		switch {
		case owner == "":
			if slices.Contains(declared(decl), name) {
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
					if slices.Contains(identNames(field.Names), name) ||
						len(field.Names) == 0 && directive.ReceiverBase(field.Type) == name {
						return true
					}
				}
			}
		}
	}
	return false
}

// withoutRepeats leaves out clashes of a name that package directive has reported already for the same directive.
func withoutRepeats(problems []Problem) []Problem {
	seen := map[string]bool{}
	return slices.DeleteFunc(problems, func(p Problem) bool {
		if p.Kind != "name-clash" && p.Kind != "wrapper-name" {
			return false
		}
		at := p.File + ":" + itoa(p.Line)
		repeat := p.Kind == "name-clash" && seen[at]
		seen[at] = true
		return repeat
	})
}
