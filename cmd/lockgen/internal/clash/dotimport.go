package clash

import (
	"go/ast"
	"go/build"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/load"
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
func (c *finder) dotDeclares(u *bound.Func, file *ast.File, name string) string {
	for _, path := range dotImports(file) {
		if c.willDeclare(path, name) || c.packageDeclares(u, path, name) {
			return path
		}
	}
	return ""
}

// willDeclare tells whether lockgen is about to declare a function in a package.
func (c *finder) willDeclare(path, name string) bool {
	for _, u := range c.Funcs {
		if u.Recv == nil && !u.Set.Test && u.Pkg.Path() == path &&
			(u.Name == name || name == bound.RegisterName && u.Directive.Cron != nil) {
			return true
		}
	}
	return false
}

// packageDeclares looks a name up in the sources of an imported package, or in what is known of its types.
func (c *finder) packageDeclares(u *bound.Func, path, name string) bool {
	dir := filepath.Join(build.Default.GOROOT, "src", filepath.FromSlash(path))
	if mod := c.Modules.Of(u.Dir); mod != nil && mod.Holds(path) {
		dir = mod.DirOf(path)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		for _, pkg := range u.Pkg.Imports() {
			if pkg.Path() == path {
				return pkg.Scope().Lookup(name) != nil
			}
		}
		return false
	}
	for _, entry := range entries {
		base := entry.Name()
		if !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") || load.Hidden(base) {
			continue
		}
		if file := c.Files.Parse(filepath.Join(dir, base)); file != nil && declares(file, "", name) {
			return true
		}
	}
	return false
}

// clashInTests finds names that the tests of a package outside of it declare, while a file of them imports the package with
// a dot.
func (c *finder) clashInTests(u *bound.Func, name string) {
	if u.Recv != nil || u.Set.Test || !token.IsExported(name) {
		return
	}
	dotted, declaring := false, ""
	for _, path := range c.Folder(u).Paths() {
		file := c.Files.Parse(path)
		if file == nil || file.Name.Name != u.File.Name.Name+"_test" {
			continue
		}
		for _, imported := range dotImports(file) {
			dotted = dotted || imported == u.Pkg.Path()
		}
		if declares(file, "", name) || importsAs(file, name) {
			declaring = filepath.Base(path)
		}
	}
	if dotted && declaring != "" {
		c.found = append(c.found, u.At(c.Files.Fset, "name-clash", "%s is to be generated for %s, and %s declares it, in "+
			"tests that import this package with a dot: choose another name with func=, or rename that one", name,
			u.Decl.Name.Name, declaring))
	}
}
