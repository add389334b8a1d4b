package gen

import (
	"context"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/graph"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
)

// Nesting finds which locks are taken while another one is held. It follows the calls from the function that a wrapper
// runs to the wrappers of other functions. A call through an interface of the packages leads to all types that have its
// methods. Goroutines run beside the section and do not count. It reads function bodies, so the packages must compile
// together with their wrappers. It uses the wrappers that would be written now, not those on the disk.
func Nesting(ctx context.Context, cfg Config) (*graph.Graph, []problem.Problem, error) {
	g, err := understand(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	result, err := g.result()
	if err != nil || len(result.Problems) > 0 {
		return nil, result.Problems, err
	}
	var units []*bound.Func
	for _, u := range g.Funcs {
		if !u.Set.Test {
			units = append(units, u)
		}
	}
	if len(units) == 0 {
		return graph.New(nil, nil), nil, nil
	}
	pkgs, err := g.Bodies(ctx, overlay(result.Files))
	if err != nil {
		return nil, nil, err
	}
	c := newCalls(pkgs, result.Files)
	wrappers := map[funcID]*bound.Func{}
	for _, u := range units {
		wrappers[idOfUnit(u, u.Name)] = u
	}
	var locks []graph.Lock
	var nestings []graph.Nesting
	for _, u := range units {
		for _, key := range u.Keys {
			locks = append(locks, graph.Lock{Shape: key.Shape(), Templates: []string{listed(u, key).Typed()},
				Functions: []string{heldBy(u, key)}})
		}
		for _, n := range c.wrappersFrom(idOfUnit(u, u.Decl.Name.Name), wrappers) {
			nestings = append(nestings, nestingsOf(u, n)...)
		}
	}
	return graph.New(locks, nestings), nil, nil
}

// nestingsOf are the pairs of locks of a function and of one whose wrapper it calls.
func nestingsOf(u *bound.Func, n reached) []graph.Nesting {
	var all []graph.Nesting
	for _, outer := range u.Keys {
		for _, inner := range n.unit.Keys {
			all = append(all, graph.Nesting{Outer: outer.Shape(), Inner: inner.Shape(), Path: n.path, Interface: n.dynamic,
				Reentrant: n.unit.Directive.Reentrant != nil && n.unit.Directive.Reentrant.Value})
		}
	}
	return all
}

func idOfUnit(u *bound.Func, name string) funcID { return funcID{u.Pkg.Path(), u.RecvType, name} }

// heldBy is a function, with how it holds a key if not alone.
func heldBy(u *bound.Func, key *directive.BoundKey) string {
	if exclusive(key) {
		return qualified(u)
	}
	return qualified(u) + " (" + listed(u, key).Held() + ")"
}

// qualified is the function with the last element of its package.
func qualified(u *bound.Func) string { return u.Pkg.Name() + "." + u.QualifiedName() }

// overlay holds outputs as they should be. One that is to be removed is built nowhere.
func overlay(outputs []File) map[string][]byte {
	all := map[string][]byte{}
	for _, f := range outputs {
		switch {
		case f.Want != nil && f.changed():
			all[f.Path] = f.Want
		case f.Want == nil:
			all[f.Path] = []byte("//go:build ignore\n\npackage ignored\n")
		}
	}
	return all
}
