package lockcheck

import (
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// An interface that a package declares beside its only implementation hides nothing: a call through it is a call of
// that implementation. Stand-ins for tests do not count as implementations.

// standIn marks types that exist for tests.
var standIn = regexp.MustCompile(`(?i)mock|fake|stub|noop|^nop|dummy`)

// implementation returns the one method behind a method of an interface of this package, nil if there are several,
// none, or the interface is somebody else's.
func (ix *program) implementation(m *types.Func) *types.Func {
	if m.Pkg() != ix.pass.Pkg {
		return nil
	}
	if impl, ok := ix.impls[m]; ok {
		return impl
	}
	impl := ix.findImplementation(m)
	ix.impls[m] = impl
	return impl
}

func (ix *program) findImplementation(m *types.Func) *types.Func {
	recv := m.Signature().Recv()
	if recv == nil {
		return nil
	}
	iface, ok := recv.Type().Underlying().(*types.Interface)
	if !ok {
		return nil
	}
	var found *types.Func
	scope := ix.pass.Pkg.Scope()
	for _, name := range scope.Names() {
		tn, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || tn.IsAlias() || ix.isStandIn(tn) {
			continue
		}
		named, ok := tn.Type().(*types.Named)
		if !ok || named.TypeParams().Len() > 0 || types.IsInterface(named) {
			continue
		}
		ptr := types.NewPointer(named)
		if !types.Implements(ptr, iface) {
			continue
		}
		obj, _, _ := types.LookupFieldOrMethod(ptr, false, ix.pass.Pkg, m.Name())
		fn, ok := obj.(*types.Func)
		if !ok || found != nil {
			return nil
		}
		found = fn.Origin()
	}
	return found
}

func (ix *program) isStandIn(tn *types.TypeName) bool {
	file := filepath.Base(ix.pass.Fset.Position(tn.Pos()).Filename)
	return standIn.MatchString(tn.Name()) || strings.HasSuffix(file, "_test.go")
}

// exportInterfaces tells importers about methods of interfaces what they are told about their implementation.
func (ix *summaries) exportInterfaces() {
	scope := ix.pass.Pkg.Scope()
	for _, name := range scope.Names() {
		tn, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || tn.IsAlias() {
			continue
		}
		iface, ok := tn.Type().Underlying().(*types.Interface)
		if !ok {
			continue
		}
		for m := range iface.ExplicitMethods() {
			impl := ix.implementation(m)
			if impl == nil || impl == m {
				continue
			}
			if s := slices.Clone(ix.summaryOf(impl)); len(s) > 0 {
				ix.pass.ExportObjectFact(m, &summaryFact{s})
				ix.carrier = true
			}
		}
	}
}
