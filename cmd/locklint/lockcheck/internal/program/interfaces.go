package program

import (
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
)

// An interface with one implementation hides nothing: a call through it is a call of that implementation. It may stand
// beside the interface or in a package that is imported. Stand-ins for tests do not count, and where there are several,
// the one that talks to a client does.

var standIn = regexp.MustCompile(`(?i)mock|fake|stub|noop|^nop|dummy`)

// Implementation returns the method behind a method of an interface, nil if it cannot be told or fn is of no interface.
func (ix *Package) Implementation(m *types.Func) *types.Func {
	if impl, ok := ix.Impls[m]; ok {
		return impl
	}
	impl := ix.findImplementation(m)
	ix.Impls[m] = impl
	return impl
}

func (ix *Package) findImplementation(m *types.Func) *types.Func {
	found := ix.Candidates(m)
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// Candidates are the methods that may stand behind a method of an interface: those of its implementations, or of those
// that talk to a client where there are several.
func (ix *Package) Candidates(m *types.Func) []*types.Func {
	recv := m.Signature().Recv()
	if recv == nil || m.Pkg() == nil || clients.OfPackage(m.Pkg()) != clients.None {
		return nil
	}
	iface, ok := recv.Type().Underlying().(*types.Interface)
	if !ok || m.Pkg() != ix.Pass.Pkg && (iface.NumMethods() < 2 || !ix.inModule(m.Pkg())) {
		return nil // such as io.Closer, which anything may stand behind
	}
	found := ix.implementations(ix.Pass.Pkg, iface)
	if len(found) == 0 && m.Pkg() == ix.Pass.Pkg {
		for _, imp := range ix.Pass.Pkg.Imports() {
			if clients.HasMutex(clients.OfPackage(imp)) || ix.isCarrier(imp) {
				found = append(found, ix.implementations(imp, iface)...)
			}
		}
	}
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(t *types.Named) bool { return !ReachesClient(t) })
	}
	var methods []*types.Func
	for _, t := range found {
		obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), false, ix.Pass.Pkg, m.Name())
		fn, ok := obj.(*types.Func)
		if !ok || types.IsInterface(fn.Signature().Recv().Type()) {
			return nil
		}
		methods = append(methods, fn.Origin())
	}
	return methods
}

// implementations are the types of a package that implement an interface.
func (ix *Package) implementations(pkg *types.Package, iface *types.Interface) []*types.Named {
	var found []*types.Named
	for _, name := range pkg.Scope().Names() {
		tn, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || tn.IsAlias() || ix.isStandIn(tn) {
			continue
		}
		named, ok := tn.Type().(*types.Named)
		if ok && named.TypeParams().Len() == 0 && !types.IsInterface(named) && types.Implements(types.NewPointer(named), iface) {
			found = append(found, named)
		}
	}
	return found
}

// inModule reports whether a package belongs to the module of this one.
func (ix *Package) inModule(pkg *types.Package) bool {
	m := ix.Pass.Module
	return m != nil && (pkg.Path() == m.Path || strings.HasPrefix(pkg.Path(), m.Path+"/"))
}

// isCarrier reports whether an imported package has facts.
func (ix *Package) isCarrier(pkg *types.Package) bool {
	return ix.Pass.ImportPackageFact(pkg, new(Carrier))
}

// ReachesClient reports whether a type has a client among its fields, or among those of its fields.
func ReachesClient(t types.Type) bool { return reachesClient(t, 0) }

func reachesClient(t types.Type, depth int) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if named, ok := types.Unalias(t).(*types.Named); ok && clients.OfPackage(named.Obj().Pkg()) != clients.None {
		return true
	}
	fields, ok := t.Underlying().(*types.Struct)
	if !ok || depth > maxFields {
		return false
	}
	for f := range fields.Fields() {
		if reachesClient(f.Type(), depth+1) {
			return true
		}
	}
	return false
}

// maxFields is how deep a client may lie in the fields of a type.
const maxFields = 3

// StandIn reports whether a type exists for tests, by its name.
func StandIn(name string) bool { return standIn.MatchString(name) }

func (ix *Package) isStandIn(tn *types.TypeName) bool {
	file := filepath.Base(ix.Pass.Fset.Position(tn.Pos()).Filename)
	return StandIn(tn.Name()) || strings.HasSuffix(file, "_test.go")
}

// IsInterface reports whether a function is a method of an interface.
func IsInterface(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	return recv != nil && types.IsInterface(recv.Type())
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
