package leases

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Programs take locks in functions that run another one until that has no error:
//
//	err := retry(ctx, 5, func() error { return m.TryLockContext(ctx) })
//
// A call of one takes the lock, and its error says whether it has got it.

// retries finds the parameter that a function runs, once or more often, and its own error says whether the last run has
// had one. It is one more than its index, 0 for none.
func (li *Info) retries(fn *ssa.Function) int {
	if results := fn.Signature.Results(); fn.Parent() != nil || results.Len() != 1 || !ssax.IsError(results.At(0).Type()) {
		return 0
	}
	for i, p := range fn.Params {
		if tries := triesOf(p); len(tries) > 0 && answers.OutcomeError(fn, tries) == 0 {
			return i + 1
		}
	}
	return 0
}

// triesOf are the runs of a parameter that is a function with nothing but an error for its result. None if the function
// does something else with it.
func triesOf(p *ssa.Parameter) (tries []*rediscmd.Command) {
	sig, ok := p.Type().Underlying().(*types.Signature)
	if !ok || sig.Results().Len() != 1 || !ssax.IsError(sig.Results().At(0).Type()) {
		return nil
	}
	for _, use := range usesBesides(p) {
		call, ok := use.(*ssa.Call)
		if !ok || call.Call.Value != ssa.Value(p) || slices.Contains(call.Call.Args, ssa.Value(p)) {
			return nil
		}
		tries = append(tries, &rediscmd.Command{Op: ops.Acquire, Reply: rediscmd.ReplyError, Call: call, Fn: p.Parent()})
	}
	return tries
}

// retrySite describes a call that runs a literal, or the method of a mutex, until that has taken a lock, nil for all
// others. The lock is a mutex of the function around the literal, or goes into a variable of that.
func (li *Info) retrySite(call *ssa.Call, m ssax.Method) *Site {
	mc := li.retried(call, m)
	if mc == nil {
		return nil
	}
	if method, mutex, ok := ssax.BoundMethod(mc); ok {
		if !locksMutex(method, mutex) {
			return nil
		}
		as := &Site{Name: "Mutex." + method.Name(), Library: handles.Library(mutex.Type()), AnyError: true, tries: mc}
		return li.retryOf(call, m, mutex, as)
	}
	tried := li.onlySite(mc.Fn.(*ssa.Function))
	if tried == nil || tried.Both || tried.OK >= 0 || !onlyTries(tried) {
		return nil
	}
	as := &Site{Call: call, Name: tried.Name, Library: tried.Library, Lease: -1, Err: -1, OK: -1, Optional: tried.Optional,
		Closed: tried.Closed, Detached: tried.Detached, AnyError: tried.hasAnyError(), tries: mc}
	if tried.Recv == nil {
		if as.into = variableFor(tried); as.into == nil || as.into.Parent() != call.Parent() {
			return nil
		}
	}
	if setsMore(mc.Fn.(*ssa.Function), as.into) {
		return nil
	}
	if tried.Recv != nil {
		return li.retryOf(call, m, ssax.SoleValue(tried.Recv), as)
	}
	return as
}

// setsMore reports whether a literal sets what is outside of it, but for a variable: what the function around knows of the
// lock may be in there. So it may be where the address of something goes to another function.
func setsMore(lit *ssa.Function, into *ssa.Alloc) bool {
	isOwn := func(addr ssa.Value) bool {
		cell, ok := ssax.CellOf(addr).(*ssa.Alloc)
		return ok && (cell == into || cell.Parent() == lit)
	}
	more := false
	ssax.EachInstr(lit, func(instr ssa.Instruction) {
		switch instr := instr.(type) {
		case *ssa.Store:
			whole, _ := wholeAt(instr.Addr)
			more = more || !isOwn(whole)
		case *ssa.MapUpdate, *ssa.Send:
			more = true
		case ssa.CallInstruction:
			for _, arg := range instr.Common().Args {
				whole, isAddr := wholeAt(arg)
				more = more || isAddr && !isOwn(whole)
			}
		}
	})
	return more
}

// wholeAt is the variable or pointer that an address leads on from. isAddr is false for values that are none.
func wholeAt(v ssa.Value) (whole ssa.Value, isAddr bool) {
	for {
		switch at := v.(type) {
		case *ssa.FieldAddr:
			v, isAddr = at.X, true
		case *ssa.IndexAddr:
			v, isAddr = at.X, true
		default:
			_, isVar := v.(*ssa.FreeVar)
			return v, isAddr || isVar
		}
	}
}

// retryOf is a site for a mutex that a call locks by what it runs, nil if that is no mutex of the function around.
func (li *Info) retryOf(call *ssa.Call, m ssax.Method, mutex ssa.Value, as *Site) *Site {
	if mutex.Parent() != call.Parent() {
		return nil
	}
	m.Recv = mutex
	site := li.mutexSite(call, m)
	site.Name, site.Library, site.AnyError, site.tries = as.Name, as.Library, as.AnyError, as.tries
	return site
}

// locksMutex reports whether a method locks a mutex of a library and says so with nothing but an error.
func locksMutex(method *types.Func, mutex ssa.Value) bool {
	library := handles.Library(mutex.Type())
	return clients.HasMutex(library) && clients.OfPackage(method.Pkg()) == library &&
		handles.VerbByName(method.Name()) == handles.VerbLock && method.Signature().Results().Len() == 1
}

// retried is what a call of a function of the program runs until it has no error, nil for other calls.
func (li *Info) retried(call *ssa.Call, m ssax.Method) *ssa.MakeClosure {
	f := li.factOfCallee(&call.Call, m)
	if f == nil || f.Retries == 0 || call.Call.IsInvoke() || f.Retries > len(call.Call.Args) {
		return nil
	}
	mc, ok := call.Call.Args[f.Retries-1].(*ssa.MakeClosure)
	if !ok || len(usesBesides(mc)) != 1 {
		return nil
	}
	return mc
}

// onlySite is the acquire of a function that does nothing else with locks, nil for others.
func (li *Info) onlySite(fn *ssa.Function) (site *Site) {
	others := false
	ssax.EachCall(fn, func(c ssa.CallInstruction) {
		call, _ := c.(*ssa.Call)
		switch at := li.siteIn(fn, call); {
		case at != nil && site == nil:
			site = at
		case at != nil || li.Handles(c.Common()):
			others = true
		}
	})
	if others {
		return nil
	}
	return site
}

// siteIn is siteOf for a call of a function itself, not of a literal in it.
func (li *Info) siteIn(fn *ssa.Function, call *ssa.Call) *Site {
	if call == nil || call.Parent() != fn {
		return nil
	}
	return li.siteOf(call)
}

// onlyTries reports whether the function of an acquire returns an error wherever that has failed, and none elsewhere.
func onlyTries(site *Site) bool {
	fn := site.Call.Parent()
	if tells, _ := tellsOutcome(fn, site); !tells {
		return false
	}
	for _, b := range fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok || b == fn.Recover {
			continue
		}
		v := ssax.Returned(ret, len(ret.Results)-1)
		if !isOutcomeOf(v, site) && isSuccess(v) == onFailure(b, site) {
			return false
		}
	}
	return true
}

// variableFor is the variable of the function around that the lock of an acquire goes into, nil if it goes elsewhere.
func variableFor(site *Site) *ssa.Alloc {
	var leases []ssa.Instruction
	for _, use := range *site.Call.Referrers() {
		if ex, ok := use.(*ssa.Extract); ok && ex.Index == site.Lease {
			leases = append(leases, usesBesides(ex)...)
		}
	}
	if len(leases) != 1 {
		return nil
	}
	st, ok := leases[0].(*ssa.Store)
	if !ok {
		return nil
	}
	cell, _ := ssax.CellOf(st.Addr).(*ssa.Alloc)
	return cell
}
