package program

import (
	"go/types"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// An interface that a package declares beside its only implementation hides nothing: a call through it is a call of
// that implementation. Stand-ins for tests do not count as implementations.

// standIn marks types that exist for tests.
var standIn = regexp.MustCompile(`(?i)mock|fake|stub|noop|^nop|dummy`)

// Implementation returns the one method behind a method of an interface of this package, nil if there are several,
// none, or the interface is somebody else's.
func (ix *Package) Implementation(m *types.Func) *types.Func {
	if m.Pkg() != ix.Pass.Pkg {
		return nil
	}
	if impl, ok := ix.Impls[m]; ok {
		return impl
	}
	impl := ix.findImplementation(m)
	ix.Impls[m] = impl
	return impl
}

func (ix *Package) findImplementation(m *types.Func) *types.Func {
	recv := m.Signature().Recv()
	if recv == nil {
		return nil
	}
	iface, ok := recv.Type().Underlying().(*types.Interface)
	if !ok {
		return nil
	}
	var found *types.Func
	scope := ix.Pass.Pkg.Scope()
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
		obj, _, _ := types.LookupFieldOrMethod(ptr, false, ix.Pass.Pkg, m.Name())
		fn, ok := obj.(*types.Func)
		if !ok || found != nil {
			return nil
		}
		found = fn.Origin()
	}
	return found
}

func (ix *Package) isStandIn(tn *types.TypeName) bool {
	file := filepath.Base(ix.Pass.Fset.Position(tn.Pos()).Filename)
	return standIn.MatchString(tn.Name()) || strings.HasSuffix(file, "_test.go")
}

// CalleeOf returns the function or method that a call runs and what it is given, the receiver first. Nil if nobody
// knows.
func (ix *Package) CalleeOf(call *ssa.CallCommon) (callee *types.Func, args []ssa.Value) {
	if call.IsInvoke() {
		callee, args = call.Method, append([]ssa.Value{call.Value}, call.Args...)
		if impl := ix.Implementation(callee); impl != nil {
			callee = impl
		}
		return callee, args
	}
	fn := call.StaticCallee()
	if fn == nil {
		return nil, nil
	}
	if o := fn.Origin(); o != nil {
		fn = o
	}
	callee, _ = fn.Object().(*types.Func)
	return callee, call.Args
}
