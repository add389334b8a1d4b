package driver

import (
	"fmt"
	"go/types"
	"sync"

	"github.com/lockgen/lockgen/cmd/locklint/internal/unit"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"
)

// analyze runs checks on packages, and collects before what their dependencies tell.
func (l *loader) analyze(roots []*packages.Package, checks []*lockcheck.Check) []*node {
	var nodes []*node
	for _, p := range roots {
		n := l.node(p)
		n.checks = checks
		nodes = append(nodes, n)
	}
	seen := map[*node]bool{}
	for _, n := range nodes {
		l.meet(n, seen) // all of them, so that a world knows when it ends
	}
	var wg sync.WaitGroup
	for _, n := range nodes {
		wg.Go(func() { l.run(n) })
	}
	wg.Wait()
	return nodes
}

// run runs a package's unit once, behind those of all that it imports.
func (l *loader) run(n *node) {
	n.once.Do(func() {
		imports := l.imports(n)
		var wg sync.WaitGroup
		for _, imp := range imports {
			wg.Go(func() { l.run(imp) })
		}
		wg.Wait()
		l.tokens <- struct{}{}
		defer func() { <-l.tokens }()
		defer n.world.leave()
		n.res, n.err = l.unit(n, imports).Run(n.checks)
		n.settle()
	})
}

// meet makes the nodes of all packages below one.
func (l *loader) meet(n *node, seen map[*node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	for _, imp := range l.imports(n) {
		l.meet(imp, seen)
	}
}

// settle keeps of a result what is needed later: places instead of positions, and types only for the importers of a
// package of which the compiler exports nothing.
func (n *node) settle() {
	if n.res == nil {
		return
	}
	n.found = findingsOf(n.world.fset, n.res.Checks)
	n.res.Checks = nil
	if !n.broken() {
		n.res.Types = nil
	}
}

func (l *loader) imports(n *node) []*node {
	var list []*node
	for _, p := range n.pkg.Imports {
		if p.PkgPath != "unsafe" {
			list = append(list, l.node(p))
		}
	}
	return list
}

// unit describes a package to package unit.
func (l *loader) unit(n *node, imports []*node) *unit.Package {
	p := n.pkg
	u := &unit.Package{
		Path:         p.PkgPath,
		Sizes:        p.TypesSizes,
		GoFiles:      p.CompiledGoFiles,
		OtherFiles:   p.OtherFiles,
		IgnoredFiles: p.IgnoredFiles,
		Fset:         n.world.fset,
		Facts:        unit.Facts{},
		Linked:       l.linked,
		NeedTypes:    p.ExportFile == "", // then nobody but us can say what its importers need
		Import:       func(path string) (*types.Package, error) { return l.importFrom(n, path) },
	}
	if m := p.Module; m != nil {
		u.Module = &analysis.Module{Path: m.Path, Version: m.Version, GoVersion: m.GoVersion}
		if m.GoVersion != "" {
			u.GoVersion = "go" + m.GoVersion
		}
	}
	for _, imp := range imports {
		if imp.res != nil {
			u.Facts.Add(imp.res.Facts)
		}
		u.Broken = u.Broken || imp.broken()
	}
	return u
}

// importFrom returns the types of what a package calls path.
func (l *loader) importFrom(n *node, path string) (*types.Package, error) {
	p := n.pkg.Imports[path]
	if p == nil {
		return nil, fmt.Errorf("the go command knows no package %s", path)
	}
	if p.ExportFile == "" {
		imp := l.node(p)
		switch {
		case imp.err != nil:
			return nil, imp.err
		case len(p.CompiledGoFiles) == 0 && len(p.Errors) > 0:
			return nil, fmt.Errorf("%s", p.Errors[0].Msg)
		}
		return imp.res.Types, nil
	}
	return n.world.exported(p)
}

// broken reports whether the package or one below it does not compile: then the compiler exports nothing of it.
func (n *node) broken() bool { return n.pkg.ExportFile == "" }
