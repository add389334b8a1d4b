package gen

import (
	"cmp"
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// owners finds the package that a file belongs to. With tests, a file is in several: a package, and the same package
// with its test files.
type owners map[string][]*packages.Package // by path of the file

func ownersOf(roots []*packages.Package) owners {
	o := owners{}
	for _, root := range roots {
		for _, path := range root.GoFiles {
			o[path] = append(o[path], root)
		}
	}
	return o
}

// of is the smallest package that holds the file: without test files where there is a choice.
func (o owners) of(a *annotated) *packages.Package {
	all := o[a.path()]
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(x, y *packages.Package) int {
		return cmp.Or(cmp.Compare(len(x.GoFiles), len(y.GoFiles)), strings.Compare(x.ID, y.ID))
	})
}

// notListed reports a file that the go command does not count to any package, with the reason that it gives.
func (g *generator) notListed(a *annotated, roots []*packages.Package) {
	mine := slices.DeleteFunc(slices.Clone(roots), func(root *packages.Package) bool {
		dir := packageDir(root)
		return dir != "" && dir != a.folder.dir
	})
	g.problems = append(g.problems, problemAt(g.files.fset, a.Directive.Pos(), a.Directive.End(), "load",
		"the package of this file cannot be loaded: the go command does not list it%s", saidOf(mine...)))
}

// byOutput groups the units by the file that their wrappers go to.
func (g *generator) byOutput() map[string][]*unit {
	internalTests := map[string]bool{} // folders whose own package has directives in test files
	for _, u := range g.units {
		if u.set.test && !u.set.external {
			internalTests[u.folder.dir] = true
		}
	}
	byPath := map[string][]*unit{}
	for _, u := range g.units {
		path := filepath.Join(u.folder.dir, u.set.outputName(!internalTests[u.folder.dir]))
		byPath[path] = append(byPath[path], u)
	}
	return byPath
}

// plan chooses the names of all files. There may be no problems: it takes for granted that everything is known.
func (g *generator) plan(groups map[string][]*unit) []*output {
	var all []*output
	for path, units := range groups {
		slices.SortFunc(units, func(a, b *unit) int {
			x, y := g.position(a), g.position(b)
			return cmp.Or(cmp.Compare(x.Filename, y.Filename), cmp.Compare(x.Offset, y.Offset))
		})
		scope, receivers := g.scope(units[0].folder, units[0].file.Name.Name)
		for _, u := range g.units {
			if u.Recv == nil && u.pkg.Path() == units[0].pkg.Path() {
				scope.reserve(u.Name)
			}
		}
		scope.reserve(registerName)
		for _, u := range units {
			u.siblings = receivers[u.RecvType]
		}
		all = append(all, planOutput(path, units[0].set, scope, units))
	}
	return all
}

func (g *generator) position(u *unit) token.Position {
	return g.files.fset.PositionFor(u.Decl.Pos(), false)
}

// scope is every name that files of a package declare, under whatever constraint: an import of a generated file may not
// have one of them. receivers are the names that methods have for theirs, by type.
func (g *generator) scope(f *folder, pkg string) (scope names, receivers map[string]string) {
	scope, receivers = names{}, map[string]string{}
	for _, file := range g.files.parseAll(f.paths()) {
		if file.Name == nil || strings.TrimSuffix(file.Name.Name, "_test") != strings.TrimSuffix(pkg, "_test") {
			continue
		}
		for _, decl := range file.Decls {
			scope.reserve(declared(decl)...)
			if owner, name := receiverOf(decl); receivers[owner] == "" {
				receivers[owner] = name
			}
		}
	}
	return scope, receivers
}

// receiverOf is the type that a method belongs to and what it calls its receiver, "" if it does not.
func receiverOf(decl ast.Decl) (owner, name string) {
	fn, ok := decl.(*ast.FuncDecl)
	if !ok || fn.Recv == nil || len(fn.Recv.List) != 1 || len(fn.Recv.List[0].Names) != 1 {
		return "", ""
	}
	if name = fn.Recv.List[0].Names[0].Name; name == "_" {
		name = ""
	}
	return directive.ReceiverBase(fn.Recv.List[0].Type), name
}

func declared(decl ast.Decl) []string {
	var found []string
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil {
			found = append(found, decl.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				found = append(found, spec.Name.Name)
			case *ast.ValueSpec:
				found = append(found, identNames(spec.Names)...)
			}
		}
	}
	return found
}
