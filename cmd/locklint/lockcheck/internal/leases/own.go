package leases

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Programs wrap the locks of libraries in types of their own:
//
//	type Lock struct{ mu *redsync.Mutex }
//
//	func (l *Lock) Lock(ctx context.Context) error   { return l.mu.LockContext(ctx) }
//	func (l *Lock) Unlock(ctx context.Context) error { _, err := l.mu.UnlockContext(ctx); return err }
//
// This file finds the methods that lock, extend and release what lives in a field of their receiver. They are verbs like
// those of the library, here and, by facts, in importing packages; an interface beside its only implementation has the
// verbs of that. The locks of this project's runtime are left out: its leases are handed on, not kept.

// An ownVerb is what a method does with the lock in its receiver.
type ownVerb struct {
	verb     handles.Verb
	library  clients.Client
	detached bool // it does not release with the context that it is given
	guarded  bool // it releases nothing where nothing is there to release
}

// findVerbs looks at the methods of the package. Types may wrap types that wrap, hence the rounds.
func (li *Info) findVerbs() {
	for range 2 {
		kept := map[string]clients.Client{} // what acquiring methods put into fields
		for _, fn := range li.P.Funcs {
			li.findAcquire(fn, kept)
		}
		for _, fn := range li.P.Funcs {
			li.findRelease(fn, kept)
		}
	}
}

// methodOf is the method that a function is, nil for other functions and for those of types that hide the receiver.
func methodOf(fn *ssa.Function) *types.Func {
	obj, ok := fn.Object().(*types.Func)
	if !ok || fn.Signature.Recv() == nil || len(fn.Params) == 0 || len(fn.Blocks) == 0 {
		return nil
	}
	return obj
}

// findAcquire recognises a method that acquires a lock, keeps it in its receiver, and says whether it has got it.
func (li *Info) findAcquire(fn *ssa.Function, kept map[string]clients.Client) {
	obj := methodOf(fn)
	if obj == nil {
		return
	}
	var found *Site
	field := ""
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(*ssa.Call)
			if !ok {
				continue
			}
			site := li.directSite(call)
			if site == nil || !clients.IsPeer(site.Library) {
				continue
			}
			if name := keptIn(site); name != "" {
				found, field = site, name
			}
		}
	}
	if found == nil {
		return
	}
	kept[field] = found.Library
	if tellsOutcome(fn, found) && !li.releasesOnSuccess(fn, field) {
		li.verbs[obj] = ownVerb{verb: handles.VerbLock, library: found.Library}
	}
}

// directSite is siteOf without facts about functions.
func (li *Info) directSite(call *ssa.Call) *Site {
	m, ok := ssax.MethodOf(&call.Call)
	if !ok {
		return nil
	}
	if site := li.librarySite(call, m); site != nil {
		return site
	}
	return li.lockSite(call, m)
}

// keptIn is the field of the receiver in which the lock of an acquire lives or is put, "" if there is none.
func keptIn(site *Site) string {
	if site.Recv != nil {
		if name := receiverField(site.Recv); name != "" {
			return name
		}
		return storedIn(site.Recv)
	}
	for _, instr := range *site.Call.Referrers() {
		if ex, ok := instr.(*ssa.Extract); ok && ex.Index == site.Lease {
			return storedIn(ex)
		}
	}
	return ""
}

// receiverField names the field of the receiver from which a value is read, "" if it is read elsewhere.
func receiverField(v ssa.Value) string {
	k := keyexpr.Of(v)
	if k.Op != keyexpr.Field {
		return ""
	}
	name := k.Text
	for k.Op == keyexpr.Field && len(k.Args) == 1 {
		k = k.Args[0]
	}
	if k.Op != keyexpr.Param || k.Text != "0" {
		return ""
	}
	return name
}

// storedIn names the field of the receiver into which a value is put, "" if there is none.
func storedIn(v ssa.Value) string {
	if v.Referrers() == nil {
		return ""
	}
	for _, instr := range *v.Referrers() {
		st, ok := instr.(*ssa.Store)
		if !ok || st.Val != v {
			continue
		}
		if field, ok := st.Addr.(*ssa.FieldAddr); ok {
			if base := keyexpr.Of(field.X); base.Op == keyexpr.Param && base.Text == "0" {
				return ssax.FieldName(field.X.Type(), field.Field)
			}
		}
	}
	return ""
}

// tellsOutcome reports whether the last result of a method says whether an acquire in it has succeeded: it returns the
// error or the flag itself, or says nil or true only where the acquire has not failed.
func tellsOutcome(fn *ssa.Function, site *Site) bool {
	results := fn.Signature.Results()
	if results.Len() == 0 {
		return false
	}
	last := results.At(results.Len() - 1).Type()
	if !ssax.IsError(last) && !ssax.IsBool(last) {
		return false
	}
	says := false
	for _, b := range fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok {
			continue
		}
		v := ret.Results[len(ret.Results)-1]
		switch {
		case isOutcomeOf(v, site, 0):
			says = true
		case isSuccess(v):
			if onFailure(b, site) {
				return false
			}
			says = says || site.Call.Block().Dominates(b)
		}
	}
	return says
}

// isOutcomeOf reports whether a value is the error or the flag of an acquire, or made of it.
func isOutcomeOf(v ssa.Value, site *Site, depth int) bool {
	if v == nil || depth > ssax.MaxDepth {
		return false
	}
	switch v := v.(type) {
	case *ssa.Call:
		return v == site.Call
	case *ssa.Extract:
		return v.Tuple == ssa.Value(site.Call) && v.Index != site.Lease
	case *ssa.BinOp:
		return isOutcomeOf(v.X, site, depth+1) || isOutcomeOf(v.Y, site, depth+1)
	case *ssa.Phi:
		for _, e := range v.Edges {
			if isOutcomeOf(e, site, depth+1) {
				return true
			}
		}
	case *ssa.UnOp:
		return isOutcomeOf(ssax.SoleValue(v), site, depth+1) && ssax.SoleValue(v) != ssa.Value(v)
	}
	return false
}

// isSuccess reports whether a result says that all went well.
func isSuccess(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && (c.Value == nil && !ssax.IsBool(c.Type()) || c.Value != nil && c.Value.String() == "true")
}

// onFailure reports whether a block runs only where an acquire has failed.
func onFailure(b *ssa.BasicBlock, site *Site) bool {
	for ; b.Idom() != nil; b = b.Idom() {
		from := b.Idom()
		cond, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
		if !ok || len(b.Preds) != 1 || !isOutcomeOf(cond.Cond, site, 0) {
			continue
		}
		failed, isErr := ssax.ErrorBranch(cond.Cond)
		if !isErr {
			failed = 1 // if ok { … }
		}
		if from.Succs[failed] == b && from.Succs[0] != from.Succs[1] {
			return true
		}
	}
	return false
}

// releasesOnSuccess reports whether a method releases the lock in a field other than to undo a failure.
func (li *Info) releasesOnSuccess(fn *ssa.Function, field string) bool {
	found := false
	ssax.EachCall(fn, func(call ssa.CallInstruction) {
		found = found || li.releasedField(call, nil) == field && !ssax.UndoesFailure(call)
	})
	return found
}

// releasedField names the field of the receiver whose lock a call releases, "" if it releases none. Function values are
// releases only where an acquiring method has kept them.
func (li *Info) releasedField(call ssa.CallInstruction, kept map[string]clients.Client) string {
	c := call.Common()
	handle := li.HandleOf(c)
	if handle == nil || li.VerbOf(c, handle) != handles.VerbRelease {
		return ""
	}
	name := receiverField(handle)
	if li.libraryOf(handle.Type()) == clients.None && kept[name] != clients.Rueidislock {
		return ""
	}
	return name
}

// findRelease recognises a method that releases or extends the lock in its receiver. What does neither, and does not
// touch it, only uses the lock.
func (li *Info) findRelease(fn *ssa.Function, kept map[string]clients.Client) {
	obj := methodOf(fn)
	if obj == nil || li.verbs[obj].verb == handles.VerbLock {
		return
	}
	v := ownVerb{}
	ssax.EachCall(fn, func(call ssa.CallInstruction) {
		c := call.Common()
		handle := li.HandleOf(c)
		if handle == nil {
			return
		}
		library := li.libraryOf(handle.Type())
		if name := receiverField(handle); name == "" {
			return
		} else if library == clients.None {
			library = kept[name]
		}
		if !clients.IsPeer(library) {
			return
		}
		switch li.VerbOf(c, handle) {
		case handles.VerbRelease:
			if li.releasedField(call, kept) != "" {
				v = ownVerb{handles.VerbRelease, library, !passesContext(fn, c), isGuarded(call, receiverField(handle))}
			}
		case handles.VerbExtend:
			if v.verb == handles.VerbOther {
				v = ownVerb{verb: handles.VerbExtend, library: library}
			}
		case handles.VerbLock:
			v = ownVerb{verb: handles.VerbOther, library: library} // both, and not in a way that can be followed
		}
	})
	if v.verb != handles.VerbOther {
		li.verbs[obj] = v
	}
}

// isGuarded reports whether a call runs only where a field of the receiver, or a flag in one, has been looked at.
func isGuarded(call ssa.CallInstruction, field string) bool {
	for b := call.Block(); b.Idom() != nil; b = b.Idom() {
		cond, ok := b.Idom().Instrs[len(b.Idom().Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		k := keyexpr.Of(cond.Cond)
		if cmp, ok := cond.Cond.(*ssa.BinOp); ok {
			k = keyexpr.Of(cmp.X)
		}
		if not, ok := cond.Cond.(*ssa.UnOp); ok && not.Op == token.NOT {
			k = keyexpr.Of(not.X)
		}
		if k.Op == keyexpr.Field && (k.Text == field || ssax.IsBool(cond.Cond.Type())) {
			return true
		}
	}
	return false
}

// isHarmless reports whether a release does nothing where nothing was acquired.
func (li *Info) isHarmless(c *ssa.CallCommon) bool {
	m, ok := ssax.MethodOf(c)
	return ok && li.own(m.Obj).guarded
}

// passesContext reports whether a call is given the context that its function is given.
func passesContext(fn *ssa.Function, c *ssa.CallCommon) bool {
	ctx := ssax.ContextOf(c)
	if ctx == nil {
		return false
	}
	p, ok := ssax.SoleValue(ctx).(*ssa.Parameter)
	return ok && p.Parent() == fn
}

// own is what is known of a method of a wrapper.
func (li *Info) own(fn *types.Func) ownVerb {
	fn = fn.Origin()
	if fn.Pkg() == nil || fn.Signature().Recv() == nil || clients.OfPackage(fn.Pkg()) != clients.None {
		return ownVerb{}
	}
	if fn.Pkg() == li.P.Pass.Pkg {
		if impl := li.P.Implementation(fn); impl != nil {
			fn = impl
		}
		return li.verbs[fn]
	}
	if v, ok := li.verbs[fn]; ok {
		return v
	}
	f, v := new(Fact), ownVerb{}
	if li.P.Pass.ImportObjectFact(fn, f) {
		v = ownVerb{f.Verb, f.Library, f.Detached, f.Guarded}
	}
	li.verbs[fn] = v
	return v
}

// HandleOf is handles.Of, also for the types of the program.
func (li *Info) HandleOf(c *ssa.CallCommon) ssa.Value {
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
	if m, ok := ssax.MethodOf(c); ok && m.Recv == handle {
		if v := li.own(m.Obj); v.verb != handles.VerbOther {
			return v.verb
		}
	}
	return handles.VerbOf(c, handle)
}

// Handles reports whether a call does something with a lock itself, rather than what the lock is there for.
func (li *Info) Handles(c *ssa.CallCommon) bool {
	handle := li.HandleOf(c)
	return handle != nil && li.libraryOf(handle.Type()) != clients.None
}

// PassesContext reports whether a release hands its context on to the library.
func (li *Info) PassesContext(c *ssa.CallCommon) bool {
	m, ok := ssax.MethodOf(c)
	return !ok || !li.own(m.Obj).detached
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
	for m := range methodsOf(named) {
		if v := li.own(m); v.verb == handles.VerbRelease {
			return v.library
		}
	}
	return clients.None
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
		for m := range iface.ExplicitMethods() {
			if v := li.own(m); v.verb != handles.VerbOther && m.Pkg() == li.P.Pass.Pkg {
				li.P.Pass.ExportObjectFact(m, &Fact{Verb: v.verb, Library: v.library, Detached: v.detached, Guarded: v.guarded})
				li.P.Carrier = true
			}
		}
	}
}
