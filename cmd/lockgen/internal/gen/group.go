package gen

import (
	"cmp"
	"go/ast"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/load"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/load/decls"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/render"
)

// byOutput groups the units by the file that their wrappers go to.
func (g *generator) byOutput() map[string][]*bound.Func {
	internalTests := map[string]bool{} // folders whose own package has directives in test files
	for _, u := range g.Funcs {
		if u.Set.Test && !u.Set.External {
			internalTests[u.Dir] = true
		}
	}
	byPath := map[string][]*bound.Func{}
	for _, u := range g.Funcs {
		path := filepath.Join(u.Dir, u.Set.FileName(!internalTests[u.Dir]))
		byPath[path] = append(byPath[path], u)
	}
	return byPath
}

// inputs are what the files are made from. There may be no problems: it takes for granted that everything is known.
func (g *generator) inputs(groups map[string][]*bound.Func) []render.File {
	var all []render.File
	for path, units := range groups {
		slices.SortFunc(units, func(a, b *bound.Func) int {
			x, y := g.Position(a), g.Position(b)
			return cmp.Or(cmp.Compare(x.Filename, y.Filename), cmp.Compare(x.Offset, y.Offset))
		})
		scope, receivers := g.scope(g.Folder(units[0]), units[0].File.Name.Name)
		for _, u := range g.Funcs {
			if u.Recv == nil && u.Pkg.Path() == units[0].Pkg.Path() {
				scope[u.Name] = true
			}
		}
		scope[bound.RegisterName] = true
		all = append(all, render.File{Path: path, Build: units[0].Set.BuildText(), Funcs: units, Names: scope,
			Receivers: receivers})
	}
	return all
}

// scope is every name that files of a package declare, under whatever constraint: an import of a generated file may not
// have one of them. receivers are the names that methods have for theirs, by type.
func (g *generator) scope(f *load.Folder, pkg string) (scope map[string]bool, receivers map[string]string) {
	scope, receivers = map[string]bool{}, map[string]string{}
	for _, file := range g.Files.ParseAll(f.Paths()) {
		if file.Name == nil || strings.TrimSuffix(file.Name.Name, "_test") != strings.TrimSuffix(pkg, "_test") {
			continue
		}
		for _, decl := range file.Decls {
			for _, name := range decls.Declared(decl) {
				scope[name] = true
			}
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
