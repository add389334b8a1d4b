package load

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
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
func (l *loader) notListed(a *annotated, roots []*packages.Package) {
	mine := slices.DeleteFunc(slices.Clone(roots), func(root *packages.Package) bool {
		dir := packageDir(root)
		return dir != "" && dir != a.folder.Dir
	})
	l.Problems = append(l.Problems, problem.At(l.Files.Fset, a.Directive.Pos(), a.Directive.End(), "load",
		"the package of this file cannot be loaded: the go command does not list it%s", saidOf(mine...)))
}
