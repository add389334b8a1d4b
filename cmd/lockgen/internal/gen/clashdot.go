package gen

import (
	"go/ast"
	"go/build"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A dot import puts all exported names of a package into the scope of a file, where no declaration of the file's own
// package may have them.

// dotImports are the import paths that a file imports with a dot.
func dotImports(file *ast.File) []string {
	var paths []string
	for _, spec := range file.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err == nil && spec.Name != nil && spec.Name.Name == "." {
			paths = append(paths, path)
		}
	}
	return paths
}

// dotDeclares is the package that gives a file of a unit's package a name by a dot import, "" if there is none.
func (g *generator) dotDeclares(u *unit, file *ast.File, name string) string {
	for _, path := range dotImports(file) {
		if g.willDeclare(path, name) || g.packageDeclares(u, path, name) {
			return path
		}
	}
	return ""
}

// willDeclare tells whether lockgen is about to declare a function in a package.
func (g *generator) willDeclare(path, name string) bool {
	for _, u := range g.units {
		if u.Recv == nil && !u.set.test && u.pkg.Path() == path &&
			(u.Name == name || name == registerName && u.Directive.Cron != nil) {
			return true
		}
	}
	return false
}

// packageDeclares looks a name up in the sources of an imported package, or in what is known of its types.
func (g *generator) packageDeclares(u *unit, path, name string) bool {
	dir := filepath.Join(build.Default.GOROOT, "src", filepath.FromSlash(path))
	if mod := g.modules.of(u.folder.dir); mod != nil && mod.holds(path) {
		dir = mod.dirOf(path)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		for _, pkg := range u.pkg.Imports() {
			if pkg.Path() == path {
				return pkg.Scope().Lookup(name) != nil
			}
		}
		return false
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") || hidden(entry.Name()) {
			continue
		}
		if file := g.files.parse(filepath.Join(dir, entry.Name())); file != nil && declares(file, "", name) {
			return true
		}
	}
	return false
}

// clashInTests finds names that the tests of a package outside of it declare, while a file of them imports the package with
// a dot.
func (g *generator) clashInTests(u *unit, name string) {
	if u.Recv != nil || u.set.test || !token.IsExported(name) {
		return
	}
	dotted, declaring := false, ""
	for _, path := range u.folder.paths() {
		file := g.files.parse(path)
		if file == nil || file.Name.Name != u.file.Name.Name+"_test" {
			continue
		}
		for _, imported := range dotImports(file) {
			dotted = dotted || imported == u.pkg.Path()
		}
		if declares(file, "", name) || importsAs(file, name) {
			declaring = filepath.Base(path)
		}
	}
	if dotted && declaring != "" {
		g.problems = append(g.problems, u.at(g.files.fset, "name-clash", "%s is to be generated for %s, and %s declares it, in "+
			"tests that import this package with a dot: choose another name with func=, or rename that one", name,
			u.Decl.Name.Name, declaring))
	}
}
