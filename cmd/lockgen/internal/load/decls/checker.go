package decls

import (
	"fmt"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/packages"
)

// A Checker type checks declarations of packages of one platform from source, each package at most once and only what
// is needed of it.
type Checker struct {
	Files *Sources
	Sizes types.Sizes
	reach *reach
	done  map[string]*types.Package // dependencies by package ID
}

// NewChecker is a checker for the sizes of an architecture.
func NewChecker(files *Sources, goarch string) *Checker {
	return &Checker{Files: files, Sizes: types.SizesFor("gc", goarch), reach: newReach(files),
		done: map[string]*types.Package{}}
}

// Expect says that a package will be checked, and for which directives. All packages are expected before any is
// checked. So a package that several of them import is read once, with what all of them need of it.
func (c *Checker) Expect(p *packages.Package, roots []Root) { c.reach.expect(p, roots) }

// Check checks a package with directives. Type errors are dropped, see the package's comment.
func (c *Checker) Check(p *packages.Package) (*types.Package, *types.Info) {
	c.reach.settle()
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Types: map[ast.Expr]types.TypeAndValue{}}
	return c.run(c.reach.need(p), info), info
}

func (c *Checker) run(n *need, info *types.Info) *types.Package {
	conf := types.Config{
		IgnoreFuncBodies:         true,
		FakeImportC:              true,
		DisableUnusedImportCheck: true,
		Sizes:                    c.Sizes,
		Importer:                 &importer{c, n.p},
		Error:                    func(error) {},
	}
	pkg, _ := conf.Check(n.p.PkgPath, c.Files.Fset, c.reach.pruned(n), info)
	return pkg
}

// importer resolves the imports of one package.
type importer struct {
	checker *Checker
	of      *packages.Package
}

// Import implements types.Importer. A package that nothing is needed of is as good as empty: most of what a package
// imports is only used in function bodies.
func (im *importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	p := im.of.Imports[path]
	if p == nil {
		return nil, fmt.Errorf("package %s was not found", path)
	}
	c := im.checker
	if pkg, ok := c.done[p.ID]; ok {
		return pkg, nil
	}
	pkg := c.dependency(p)
	pkg.MarkComplete()
	c.done[p.ID] = pkg
	return pkg, nil
}

func (c *Checker) dependency(p *packages.Package) *types.Package {
	n := c.reach.needs[p.ID]
	switch {
	case p.Types != nil && (p.Types.Complete() || n == nil):
		return p.Types
	case p.Types != nil:
		return n.fill(p.Types)
	case n == nil || p.IllTyped:
		return types.NewPackage(p.PkgPath, p.Name)
	case !n.read:
		return n.fill(c.reach.std.Of(p.PkgPath))
	}
	return c.run(n, nil)
}
