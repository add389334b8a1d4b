package driver

import (
	"go/token"
	"go/types"
	"maps"
	"slices"

	"github.com/lockgen/lockgen/cmd/locklint/internal/unit"
)

// This file is what locklint by itself sees and a process of go vet cannot: the whole program. What a package declares
// as an interface, another that it does not know may implement, and the two meet in main. Once all packages have told
// what their functions do, those interfaces are told it too, and the packages that may call through them are looked at
// again.

// linkedTogether returns a loader for a second look, which keeps what will not change. It is nil if there is nothing to
// be seen: no interface hides a lock, or what is there does not compile.
func (l *loader) linkedTogether() (*loader, error) {
	facts := unit.Facts{}
	mine := map[string]*node{} // by path; of a package with tests inside, the one without them if there is one
	for _, n := range l.inOrder() {
		if n.broken() || n.res == nil {
			return nil, nil
		}
		m, path := n.pkg.Module, n.pkg.PkgPath
		if m == nil || m.Version != "" || n.pkg.ForTest != "" && (n.pkg.ForTest != path || mine[path] != nil) {
			continue
		}
		mine[path] = n
		if told, ok := n.res.Facts[path]; ok {
			facts[path] = told
		}
	}
	if len(facts) == 0 {
		return nil, nil
	}
	linked, err := link(mine, facts)
	if err != nil || len(linked) == 0 {
		return nil, err
	}
	again := newLoader()
	again.linked = linked
	sees := map[*node]bool{}
	var kept []*node
	for _, n := range l.inOrder() {
		if second := again.node(n.pkg); !l.seesLinks(n, linked, sees) {
			second.res, second.found = n.res, n.found
			kept = append(kept, second)
		}
	}
	for _, n := range kept {
		n.once.Do(n.world.leave)
	}
	return again, nil
}

// link finds what stands behind the interfaces of some packages.
func link(nodes map[string]*node, facts unit.Facts) (unit.Facts, error) {
	w := &world{fset: token.NewFileSet(), imported: map[string]*types.Package{}}
	var pkgs []*types.Package
	for _, path := range slices.Sorted(maps.Keys(nodes)) {
		p, err := w.exported(nodes[path].pkg)
		if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
	return unit.Link(pkgs, facts)
}

// seesLinks reports whether a package has an interface of which more is known, or imports one that has.
func (l *loader) seesLinks(n *node, linked unit.Facts, known map[*node]bool) bool {
	sees, ok := known[n]
	if !ok {
		_, sees = linked[n.pkg.PkgPath]
		for _, imp := range l.imports(n) {
			sees = l.seesLinks(imp, linked, known) || sees
		}
		known[n] = sees
	}
	return sees
}
