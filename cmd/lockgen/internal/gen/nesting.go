package gen

import (
	"context"

	"github.com/lockgen/lockgen/cmd/lockgen/internal/graph"
)

// Nesting finds which locks are taken while another one is held. It follows the calls from the function that a wrapper
// runs to the wrappers of other functions. A call through an interface of the packages leads to all types that have its
// methods. Goroutines run beside the section and do not count. It reads function bodies, so the packages must compile
// together with their wrappers. It uses the wrappers that would be written now, not those on the disk.
func Nesting(ctx context.Context, cfg Config) (*graph.Graph, []Problem, error) {
	g, err := understand(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	result, err := g.result()
	if err != nil || len(result.Problems) > 0 {
		return nil, result.Problems, err
	}
	var units []*unit
	for _, u := range g.units {
		if !u.set.test {
			units = append(units, u)
		}
	}
	if len(units) == 0 {
		return graph.New(nil, nil), nil, nil
	}
	pkgs, err := loadBodies(ctx, g.cfg, result.Files)
	if err != nil {
		return nil, nil, err
	}
	c := newCalls(pkgs, result.Files)
	wrappers := map[funcID]*unit{}
	for _, u := range units {
		wrappers[u.id(u.Name)] = u
	}
	var locks []graph.Lock
	var nestings []graph.Nesting
	for _, u := range units {
		for _, key := range u.Keys {
			locks = append(locks, graph.Lock{Shape: key.Shape(), Templates: []string{u.listed(key).Typed()},
				Functions: []string{u.qualified()}})
		}
		for _, n := range c.wrappersFrom(u.id(u.Decl.Name.Name), wrappers) {
			nestings = append(nestings, u.nestings(n)...)
		}
	}
	return graph.New(locks, nestings), nil, nil
}

// nestings are the pairs of locks of a function and of one whose wrapper it calls.
func (u *unit) nestings(n reached) []graph.Nesting {
	var all []graph.Nesting
	for _, outer := range u.Keys {
		for _, inner := range n.unit.Keys {
			all = append(all, graph.Nesting{Outer: outer.Shape(), Inner: inner.Shape(), Path: n.path, Interface: n.dynamic,
				Reentrant: n.unit.Directive.Reentrant != nil && n.unit.Directive.Reentrant.Value})
		}
	}
	return all
}

func (u *unit) id(name string) funcID { return funcID{u.pkg.Path(), u.RecvType, name} }

// qualified is the function with the last element of its package.
func (u *unit) qualified() string { return u.pkg.Name() + "." + u.funcName() }
