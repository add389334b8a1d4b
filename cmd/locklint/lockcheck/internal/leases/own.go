package leases

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/program"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Programs wrap the locks of libraries in types of their own:
//
//	type Lock struct{ mu *redsync.Mutex }
//
//	func (l *Lock) Lock(ctx context.Context) error   { return l.mu.LockContext(ctx) }
//	func (l *Lock) Unlock(ctx context.Context) error { _, err := l.mu.UnlockContext(ctx); return err }
//
// The methods that lock, extend and release what lives in a field of their receiver are verbs like those of the library,
// here and, by facts, in importing packages; an interface beside its only implementation has the verbs of that.
// The locks of this project's runtime are left out: its leases are handed on, not kept.

// An ownVerb is what a method does with the lock in its receiver.
type ownVerb struct {
	verb     handles.Verb
	library  clients.Client
	detached bool // it does not release with the context that it is given
	guarded  bool // it releases nothing where nothing is there to release
	nilSafe  bool // it may be called on nil
	both     bool // there is a lock only where both its error and its flag say so
	keyed    bool // its receiver keeps several locks, and it is told which
	anyError bool // it hands on any error of the library, not only errors of its own
}

// own is what is known of a method of a wrapper.
func (li *Info) own(fn *types.Func) ownVerb {
	fn = fn.Origin()
	if fn.Pkg() == nil || fn.Signature().Recv() == nil || clients.OfPackage(fn.Pkg()) != clients.None {
		return ownVerb{}
	}
	if impl := li.P.Implementation(fn); impl != nil {
		if library := clients.OfPackage(impl.Pkg()); library != clients.None {
			return libraryVerb(impl, library)
		}
		fn = impl
	} else if v := li.agreed(fn); v.verb != handles.VerbOther {
		return v
	}
	if v, ok := li.verbs[fn]; ok || fn.Pkg() == li.P.Pass.Pkg && !program.IsInterface(fn) {
		return v
	}
	f, v := new(Fact), ownVerb{}
	if li.P.Pass.ImportObjectFact(fn, f) {
		v = ownVerb{f.Verb, f.Library, f.Detached, f.Guarded, f.NilSafe, f.Both, f.Keyed, f.AnyError}
	} else if recv := fn.Signature().Recv().Type(); handles.StandsForMutex(recv) {
		v = libraryVerb(fn, clients.Redsync)
	} else if verb := handles.VerbByName(fn.Name()); verb != handles.VerbOther && handles.StandsForLease(recv) {
		v = ownVerb{verb: verb, library: clients.Redislock}
	}
	li.verbs[fn] = v
	return v
}

// ownOf is own for the method that a call runs, if it runs one.
func (li *Info) ownOf(c *ssa.CallCommon) ownVerb {
	if m, ok := ssax.MethodOf(c); ok && m.Recv != nil {
		return li.own(m.Obj)
	}
	return ownVerb{}
}

// agreed is what all implementations of an interface of this package do with the lock in their receivers, where there
// are several that talk to a client.
func (li *Info) agreed(fn *types.Func) ownVerb {
	if fn.Pkg() != li.P.Pass.Pkg || !program.IsInterface(fn) {
		return ownVerb{}
	}
	all := ownVerb{detached: true}
	for i, impl := range li.P.Candidates(fn) {
		v := li.verbs[impl]
		if i > 0 && v.verb != all.verb || v.verb == handles.VerbOther {
			return ownVerb{}
		}
		all.verb, all.library = v.verb, v.library
		all.detached = all.detached && v.detached
		all.guarded, all.both, all.keyed = all.guarded || v.guarded, all.both || v.both, all.keyed || v.keyed
		all.nilSafe, all.anyError = all.nilSafe || v.nilSafe, all.anyError || v.anyError
	}
	return all
}

// libraryVerb is what a library's method does, for an interface of the program's own that stands for the library's type.
func libraryVerb(impl *types.Func, library clients.Client) ownVerb {
	if !clients.HasMutex(library) {
		return ownVerb{}
	}
	return ownVerb{verb: handles.VerbByName(impl.Name()), library: library}
}

// HandleOf is handles.Of, also for the types of the program.
func (li *Info) HandleOf(c *ssa.CallCommon) ssa.Value {
	if addr, _ := li.fieldCall(c); addr != nil {
		return addr.X
	}
	if handle := handles.Of(c); handle != nil {
		return handle
	}
	if m, ok := ssax.MethodOf(c); ok && m.Recv != nil && li.own(m.Obj).verb != handles.VerbOther {
		return m.Recv
	}
	return nil
}

// VerbOf is handles.VerbOf, also for the types of the program.
func (li *Info) VerbOf(c *ssa.CallCommon, handle ssa.Value) handles.Verb {
	if addr, v := li.fieldCall(c); addr != nil && handle == addr.X {
		return v.verb
	}
	if m, ok := ssax.MethodOf(c); ok && m.Recv == handle {
		if v := li.own(m.Obj); v.verb != handles.VerbOther {
			return v.verb
		}
	}
	return handles.VerbOf(c, handle)
}

// Handles reports whether a call does something with a lock itself, rather than what the lock is there for.
func (li *Info) Handles(c *ssa.CallCommon) bool {
	if addr, _ := li.fieldCall(c); addr != nil {
		return true
	}
	handle := li.HandleOf(c)
	return handle != nil && li.libraryOf(handle.Type()) != clients.None
}

// libraryOf is handles.Library, also for the types of the program: those with a method that releases.
func (li *Info) libraryOf(t types.Type) clients.Client {
	if library := handles.Library(t); library != clients.None {
		return library
	}
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || clients.OfPackage(named.Obj().Pkg()) != clients.None {
		return clients.None
	}
	library, known := li.wrappers[named.Obj()]
	if known {
		return library
	}
	for m := range methodsOf(named) {
		if v := li.own(m); v.verb == handles.VerbRelease {
			library = v.library
		}
	}
	if li.wrappers != nil {
		li.wrappers[named.Obj()] = library
	}
	return library
}

// methodsOf are the methods that a type declares.
func methodsOf(named *types.Named) func(yield func(*types.Func) bool) {
	if iface, ok := named.Underlying().(*types.Interface); ok {
		return iface.ExplicitMethods()
	}
	return named.Origin().Methods()
}

// isOwn reports whether a type of the program wraps a lock, or is an interface that hides one that does.
func (li *Info) isOwn(t types.Type) bool {
	return handles.Library(t) == clients.None && li.libraryOf(t) != clients.None
}

// bindsRelease reports whether a function value is the releasing method of a lock, as in return lock.Release.
func (li *Info) bindsRelease(mc *ssa.MakeClosure) bool {
	fn, ok := mc.Fn.(*ssa.Function)
	if !ok || len(mc.Bindings) != 1 {
		return false
	}
	obj, ok := fn.Object().(*types.Func)
	if !ok || fn.Synthetic == "" || obj.Signature().Recv() == nil {
		return false
	}
	if v := li.own(obj); v.verb != handles.VerbOther {
		return v.verb == handles.VerbRelease
	}
	return handles.Is(mc.Bindings[0].Type()) && handles.IsReleaseName(obj.Name())
}

// isReleaseCall reports whether a call releases some lock that is known by its type.
func (li *Info) isReleaseCall(c *ssa.CallCommon) bool {
	m, ok := ssax.MethodOf(c)
	return handles.IsReleaseCall(c) || ok && m.Recv != nil && li.own(m.Obj).verb == handles.VerbRelease
}

// exportVerbs tells importers of the methods, and of those of interfaces that hide them.
func (li *Info) exportVerbs() {
	scope := li.P.Pass.Pkg.Scope()
	for _, name := range scope.Names() {
		tn, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || tn.IsAlias() {
			continue
		}
		iface, ok := tn.Type().Underlying().(*types.Interface)
		if !ok {
			continue
		}
		li.P.Carrier = li.P.Carrier || handles.IsPort(tn.Type())
		for m := range iface.ExplicitMethods() {
			if m.Pkg() != li.P.Pass.Pkg {
				continue
			}
			v, behind := li.own(m), li.behind(m)
			if v.verb != handles.VerbOther {
				behind = &Fact{Verb: v.verb, Library: v.library, Guarded: v.guarded,
					Detached: v.detached || li.allDetach(m), NilSafe: v.nilSafe, Both: v.both, Keyed: v.keyed, AnyError: v.anyError}
			}
			if behind != nil && (behind.Verb != handles.VerbOther || behind.Returns > 0 || behind.Makes > 0 || behind.Around > 0 ||
				behind.Says != saysNothing) {
				li.P.Pass.ExportObjectFact(m, behind)
				li.P.Carrier = true
			}
		}
	}
}
