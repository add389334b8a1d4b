package render

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// Import paths that generated code calls. lockgen knows them by name only and imports neither.
const (
	sqlstorePath = directive.RuntimePath + "/sqlstore"
	jobsPath     = "github.com/lockgen/lockgen/jobs"
)

// imports are the packages that one generated file may refer to. Their names are chosen before anything is rendered, so
// that parameters and locals can stay clear of them.
type imports struct {
	wanted map[string]string // name by path, as the sources call it
	real   map[string]string // the package's own name by path, where it is known
	name   map[string]string // the chosen name by path
}

func newImports() *imports {
	return &imports{wanted: map[string]string{}, real: map[string]string{}, name: map[string]string{}}
}

// add notes that a file needs a package. The first wish for a name wins.
func (im *imports) add(path, real, wanted string) {
	if wanted == "" || wanted == "." {
		wanted = real
	}
	if im.wanted[path] == "" {
		im.wanted[path] = wanted
	}
	if im.real[path] == "" {
		im.real[path] = real
	}
}

func (im *imports) addPackage(pkg *types.Package) { im.add(pkg.Path(), pkg.Name(), "") }

// addUsed notes the packages that an expression refers to.
func (im *imports) addUsed(expr ast.Node, info *types.Info, local *types.Package) {
	ast.Inspect(expr, func(node ast.Node) bool {
		ident, ok := node.(*ast.Ident)
		if !ok {
			return true
		}
		switch obj := info.Uses[ident].(type) {
		case nil:
		case *types.PkgName:
			im.add(obj.Imported().Path(), obj.Imported().Name(), obj.Name())
		default:
			if dotImported(obj, local) {
				im.addPackage(obj.Pkg())
			}
		}
		return true
	})
}

// dotImported tells whether an object that is named without a qualifier belongs to another package.
func dotImported(obj types.Object, local *types.Package) bool {
	if obj.Pkg() == nil || obj.Pkg() == local {
		return false
	}
	return obj.Parent() == obj.Pkg().Scope() // not a field or method of a dot-imported type
}

// choose gives every package a name that nothing in taken uses.
func (im *imports) choose(taken names) {
	used := maps.Clone(taken)
	for _, path := range slices.Sorted(maps.Keys(im.wanted)) {
		wanted := im.wanted[path]
		if isPredeclared(wanted) || jen.IsReservedWord(wanted) || !used.free(wanted) {
			wanted += "pkg"
		}
		im.name[path] = used.claim(wanted)
	}
}

// declare tells jennifer the names.
func (im *imports) declare(file *jen.File) {
	for path, name := range im.name {
		if name == im.real[path] {
			file.ImportName(path, name)
		} else {
			file.ImportAlias(path, name)
		}
	}
}
