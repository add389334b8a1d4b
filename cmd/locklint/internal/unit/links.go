package unit

import (
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/objectpath"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

// Link returns what methods of interfaces tell because of what stands behind them, for some packages that share their
// types, and of which facts are known. It is more than the packages tell one another: an interface and what implements
// it may be declared in packages that do not know each other.
func Link(pkgs []*types.Package, facts Facts) (Facts, error) {
	register()
	tells := map[*types.Func][]analysis.Fact{}
	for _, p := range pkgs {
		list, err := decode(facts[p.Path()].Facts)
		if err != nil {
			return nil, err
		}
		for _, t := range list {
			if t.Path == "" {
				continue
			}
			obj, err := objectpath.Object(p, t.Path)
			if err != nil {
				continue // not in what the compiler exports
			}
			if fn, ok := obj.(*types.Func); ok && lockcheck.TellsCaller(t.Fact) {
				tells[fn] = append(tells[fn], t.Fact)
			}
		}
	}
	lists := map[string][]told{}
	for m, impl := range lockcheck.Links(pkgs, func(fn *types.Func) bool { return tells[fn] != nil }) {
		path, err := objectpath.For(m)
		if err != nil {
			continue // of an interface that is local to a function
		}
		for _, f := range tells[impl] {
			lists[m.Pkg().Path()] = append(lists[m.Pkg().Path()], told{path, f})
		}
	}
	linked := Facts{}
	for path, list := range lists {
		data, err := encode(path, append(list, told{Fact: lockcheck.Carrier()}))
		if err != nil {
			return nil, err
		}
		linked[path] = Told{Carrier: true, Facts: data}
	}
	return linked, nil
}
