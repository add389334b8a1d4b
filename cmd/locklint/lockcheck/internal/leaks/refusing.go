package leaks

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// reportRefusing reports a method that locks what its receiver keeps, and then says that it has not got the lock, as where
// its context has ended meanwhile: whoever hears that unlocks nothing. Silent where the method unlocks anything, or hands
// its receiver to somebody who may.
func reportRefusing(r *check.Reporter, flow *leases.Flow) {
	li, fn := r.Index.Leases, flow.Fn
	if flow.Site.Owned() || li.FactOf(fn).Verb != handles.VerbLock || flow.Released || len(fn.Params) == 0 ||
		r.Index.InTest(flow.Site.Call.Pos()) || mayUnlock(r, flow) {
		return
	}
	for _, l := range flow.Leaks {
		ret, ok := l.Exit.(*ssa.Return)
		if !ok || !l.Granted() || !refuses(ret) {
			continue
		}
		pos, end := r.CallSpan(flow.Site.Call)
		r.Report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("the %s from %s is held when the return at %s says that there is none: nobody releases it then, "+
				"and others wait until its TTL; release it first", flow.Site.Library.HandleName(), flow.Site.Name,
				r.Place(ret.Pos(), pos)),
			Related: []analysis.RelatedInformation{{Pos: ret.Pos(), Message: "still held here"}},
		})
		return
	}
}

// mayUnlock reports whether something else that the function runs may unlock.
func mayUnlock(r *check.Reporter, flow *leases.Flow) bool {
	found := false
	ssax.EachCall(flow.Fn, func(call ssa.CallInstruction) {
		if call == ssa.CallInstruction(flow.Site.Call) {
			return
		}
		c := call.Common()
		if r.Index.Leases.Handles(c) {
			found = found || r.Index.Leases.VerbOf(c, r.Index.Leases.HandleOf(c)) != handles.VerbUse
			return
		}
		for _, a := range c.Args {
			found = found || ssax.SoleValue(a) == ssa.Value(flow.Fn.Params[0])
		}
		found = found || c.IsInvoke() && ssax.SoleValue(c.Value) == ssa.Value(flow.Fn.Params[0])
	})
	return found
}

// refuses reports whether a return certainly says that there is no lock: false, or a new error.
func refuses(ret *ssa.Return) bool {
	n := len(ret.Results)
	if n == 0 {
		return false
	}
	last := ssax.Returned(ret, n-1)
	if ssax.IsError(last.Type()) {
		return ssax.IsNewError(last)
	}
	c, ok := last.(*ssa.Const)
	return ok && n == 1 && ssax.IsBool(c.Type()) && c.Value != nil && c.Value.String() == "false"
}
