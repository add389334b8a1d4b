// Package refusals reports code that goes on without the lock.
package refusals

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Check reports acquires after which the same code runs with and without the lock: the error is logged, or
// handled in a branch that rejoins the critical section, or not looked at by anybody. Code that runs after the release
// may run without the lock, too, and what a deferred literal does says nothing.
func Check(r *check.Reporter, of func(clients.Client) bool) {
	for _, flow := range r.Flows(of) {
		site := flow.Site
		if r.Index.InTest(site.Call.Pos()) {
			continue
		}
		pos, end := r.CallSpan(site.Call)
		if site.Null && onlyCalled(r, site.Call) {
			r.Report(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("%s returns nil when it has not got the lock, and nobody looks: the code goes on without it; "+
					"return or wait", r.CallText(site.Call)),
			})
			continue
		}
		if ignoresError(r, site) || putsErrorAway(r, flow) || onlyLogsError(r, flow) {
			what := "error"
			if site.Both || site.OK >= 0 && site.Err < 0 || ssax.IsBool(site.Call.Type()) {
				what = "outcome"
			}
			r.Report(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("the %s of %s is ignored: when somebody else holds the lock, the code goes on without "+
					"it; return or wait", what, r.CallText(site.Call)),
			})
			continue
		}
		if work := heedsSome(r, site, flow, func(v ssa.Value) bool { return onlyCalled(r, v) }); work != nil {
			at := work.Common().Pos()
			r.Report(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("when %s fails in another way than those that are asked for, the code goes on without the "+
					"lock: %s at %s runs either way; return on every error",
					r.CallText(site.Call), r.CallText(work), r.Place(at, pos)),
				Related: []analysis.RelatedInformation{{Pos: at, Message: "runs with and without the lock"}},
			})
			continue
		}
		both := map[ssa.Instruction]bool{}
		for instr := range flow.Outside {
			call, ok := instr.(ssa.CallInstruction)
			if flow.Inside[instr] && ok && call != ssa.CallInstruction(site.Call) && !r.Index.Leases.Handles(call.Common()) &&
				!ssax.RunsBefore(call, site.Call) && !triesAgain(r, flow, call) && !nextRound(flow, call) &&
				!told(flow, call.Common()) {
				both[instr] = true
			}
		}
		work := workOf(r, both)
		if work == nil {
			continue
		}
		at := work.Common().Pos()
		r.Report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("when %s fails, the code goes on without the lock: %s at %s runs either way; return on the "+
				"error, or wait for the lock",
				r.CallText(site.Call), r.CallText(work), r.Place(at, pos)),
			Related: []analysis.RelatedInformation{{Pos: at, Message: "runs with and without the lock"}},
		})
	}
}

// triesAgain reports whether a call runs in a loop that tries for a lock of the same kind in another place, as that of a
// leader does: what is asked between two tries is not the work that the lock is there for.
func triesAgain(r *check.Reporter, flow *leases.Flow, call ssa.CallInstruction) bool {
	for _, other := range r.Index.Leases.Flows {
		if other == flow || other.Fn != flow.Fn || other.Site.Library != flow.Site.Library {
			continue
		}
		for head := other.Site.Call.Block(); head != nil; head = head.Idom() {
			loop := ssax.LoopOf(head)
			if loop[other.Site.Call.Block()] && loop[call.Block()] && !loop[flow.Site.Call.Block()] {
				return true
			}
		}
	}
	return false
}

// ignoresError reports whether nobody can know whether the acquire succeeded.
func ignoresError(r *check.Reporter, site *leases.Site) bool {
	switch {
	case site.Sure:
		return false
	case site.Recv != nil && site.Err < 0 && site.OK < 0:
		return ssax.Undecided(site.Call)
	case site.Err < 0 && site.OK < 0:
		return false
	}
	for _, instr := range *site.Call.Referrers() {
		ex, ok := instr.(*ssa.Extract)
		switch {
		case ok && site.Both && ex.Index != site.OK && ex.Index != site.Lease: // says nothing of a lock that somebody else has
		case !ok || (ex.Index == site.Err || ex.Index == site.OK) && !ssax.Undecided(ex):
			return false
		case ex.Index == site.Lease && !onlyCalled(r, ex):
			return false // compared with nil, or gone where it may be
		}
	}
	return true
}

// onlyCalled reports whether a lease is used for nothing but its methods.
func onlyCalled(r *check.Reporter, lease ssa.Value) bool {
	for _, instr := range *lease.Referrers() {
		switch instr := instr.(type) {
		case ssa.CallInstruction:
			if r.Index.Leases.HandleOf(instr.Common()) != lease && instr.Common().Value != lease {
				return false
			}
		case *ssa.DebugRef:
		default:
			return false
		}
	}
	return true
}
