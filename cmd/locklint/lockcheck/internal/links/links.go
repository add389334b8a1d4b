// Package links finds what stands behind the interfaces of a program whose parts do not know each other: one package
// declares what it needs, another implements it, and only a third, which makes the program of them, imports both. No
// analysis of a package by itself sees that, so it takes somebody who has all packages at hand.
package links

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/program"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/summaries"
)

// Tells reports whether a fact about a method says what a call through an interface does: that it locks, extends or
// releases, or issues commands.
func Tells(f analysis.Fact) bool {
	switch f := f.(type) {
	case *summaries.Fact:
		return true
	case *leases.Fact:
		return f.Verb != handles.VerbOther || f.Returns > 0 || f.Around > 0
	}
	return false
}

// Find returns the methods behind methods of interfaces, of some packages that share their types. A method is known if
// tells says so. An interface has to have one implementation with known methods, or one that talks to a client; types
// that stand in for others in tests do not count.
func Find(pkgs []*types.Package, tells func(*types.Func) bool) map[*types.Func]*types.Func {
	var impls []*types.Named
	names := map[string]bool{} // of methods that are known
	eachType(pkgs, func(t *types.Named) {
		if types.IsInterface(t) || t.TypeParams().Len() > 0 || program.StandIn(t.Obj().Name()) {
			return
		}
		known := false
		for m := range t.Methods() {
			if tells(m) {
				names[m.Name()], known = true, true
			}
		}
		if known {
			impls = append(impls, t)
		}
	})
	behind := map[*types.Func]*types.Func{}
	if len(impls) == 0 {
		return behind
	}
	eachType(pkgs, func(t *types.Named) {
		iface, ok := t.Underlying().(*types.Interface)
		if !ok || t.TypeParams().Len() > 0 || !hasMethod(iface, names) {
			return
		}
		impl := implementation(iface, impls)
		if impl == nil {
			return
		}
		for m := range iface.ExplicitMethods() {
			obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(impl), false, m.Pkg(), m.Name())
			if fn, ok := obj.(*types.Func); ok && m.Pkg() == t.Obj().Pkg() && tells(fn.Origin()) && !tells(m) {
				behind[m] = fn.Origin()
			}
		}
	})
	return behind
}

func hasMethod(iface *types.Interface, names map[string]bool) bool {
	for m := range iface.ExplicitMethods() {
		if names[m.Name()] {
			return true
		}
	}
	return false
}

// implementation is the only type that implements an interface, or the only one of several that talks to a client.
func implementation(iface *types.Interface, impls []*types.Named) *types.Named {
	var found []*types.Named
	for _, t := range impls {
		if types.Implements(types.NewPointer(t), iface) {
			found = append(found, t)
		}
	}
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(t *types.Named) bool { return !program.ReachesClient(t) })
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// eachType calls f for each named type that packages declare.
func eachType(pkgs []*types.Package, f func(*types.Named)) {
	for _, p := range pkgs {
		for _, name := range p.Scope().Names() {
			tn, ok := p.Scope().Lookup(name).(*types.TypeName)
			if !ok || tn.IsAlias() {
				continue
			}
			if t, ok := tn.Type().(*types.Named); ok {
				f(t)
			}
		}
	}
}
