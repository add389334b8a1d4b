package leases

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Programs lock a library's mutex through functions of their own, such as func lock(ctx, mu *redsync.Mutex) error. A call
// of one locks what it is given.

// locks finds the parameter that is a mutex which a function locks and leaves locked, and whose outcome it tells: by its
// only result, or by not returning. It is one more than the index, 0 for none.
func (li *Info) locks(fn *ssa.Function) int {
	results := fn.Signature.Results()
	if fn.Parent() != nil || results.Len() > 1 {
		return 0
	}
	for i, p := range fn.Params {
		if library := handles.Library(p.Type()); i == 0 && fn.Signature.Recv() != nil || !clients.HasMutex(library) {
			continue
		}
		site := li.onlyLock(fn, p)
		switch {
		case site == nil:
		case results.Len() == 1:
			if tells, _ := tellsOutcome(fn, site); tells {
				return i + 1
			}
		case !returnsRefused(fn, site):
			return i + 1
		}
	}
	return 0
}

// onlyLock is the call by which a function locks a mutex that it is given, nil if there is none, or something else is
// done with it.
func (li *Info) onlyLock(fn *ssa.Function, p *ssa.Parameter) *Site {
	var site *Site
	for _, use := range *p.Referrers() {
		call, ok := use.(*ssa.Call)
		if !ok {
			if _, ok := use.(*ssa.DebugRef); ok {
				continue
			}
			return nil
		}
		m, ok := ssax.MethodOf(&call.Call)
		if ok && m.Recv == ssa.Value(p) && onlyTells(m.Obj) {
			continue
		}
		if !ok || m.Recv != ssa.Value(p) || site != nil || !isLockCall(m) {
			return nil
		}
		site = li.lockSite(call, m)
	}
	return site
}

// onlyTells reports whether a method of a mutex says something of it, without a request: its name, its token, its end.
func onlyTells(method *types.Func) bool {
	sig := method.Signature()
	return sig.Params().Len() == 0 && sig.Results().Len() == 1 && !ssax.IsError(sig.Results().At(0).Type()) &&
		!ssax.IsBool(sig.Results().At(0).Type()) && handles.VerbByName(method.Name()) == handles.VerbOther
}

// returnsRefused reports whether a function without results returns where an acquire in it has failed, or may have.
func returnsRefused(fn *ssa.Function, site *Site) bool {
	asked := false
	for _, b := range fn.Blocks {
		switch end := b.Instrs[len(b.Instrs)-1].(type) {
		case *ssa.If:
			asked = asked || isOutcomeOf(end.Cond, site)
		case *ssa.Return:
			if onFailure(b, site) || len(b.Preds) > 1 {
				return true
			}
		}
	}
	return !asked
}

// lockerSite describes the call of a function that locks a mutex which it is given, nil for all others.
func (li *Info) lockerSite(call *ssa.Call, m ssax.Method) *Site {
	fn := call.Call.StaticCallee()
	if fn == nil || fn.Parent() != nil || clients.OfPackage(m.Obj.Pkg()) != clients.None {
		return nil
	}
	i := li.FactOf(fn).Locks - 1
	if i < 0 || i >= len(call.Call.Args) {
		return nil
	}
	m.Recv = call.Call.Args[i]
	site := li.mutexSite(call, m)
	site.Name, site.Library = ssax.ShortName(m.Obj), handles.Library(m.Recv.Type())
	site.Sure = call.Call.Signature().Results().Len() == 0
	if clients.IsCoordinator(site.Library) {
		li.endsWithSession(site)
	}
	return site
}

// handsOn reports whether a function releases a lock that it is given with the context that it is given first.
func (li *Info) handsOn(fn *ssa.Function) bool {
	params := fn.Params
	if fn.Signature.Recv() != nil {
		params = params[1:]
	}
	if fn.Parent() != nil || len(params) == 0 {
		return false
	}
	found := false
	ssax.EachCall(fn, func(call ssa.CallInstruction) {
		if handles.IsReleaseCall(call.Common()) && li.PassesContext(call.Common()) {
			p, ok := ssax.SoleValue(ssax.ContextOf(call.Common())).(*ssa.Parameter)
			found = found || ok && p == params[0]
		}
	})
	return found
}
