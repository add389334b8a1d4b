package lockcheck

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll3002 = newCheck("LL3002", "goes on without the lock", Warning, false, checkRefusals)

// checkRefusals reports acquires after which the same code runs with and without the lock: the error is logged, or
// handled in a branch that rejoins the critical section, or not looked at by anybody. Code that runs after the release
// may run without the lock, too, and what a deferred literal does says nothing.
func checkRefusals(r *reporter) {
	for _, flow := range r.flows(isPeer) {
		site := flow.site
		if r.index.inTest(site.call.Pos()) {
			continue
		}
		pos, end := r.callSpan(site.call)
		if site.ignoresError() {
			r.report(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("the error of %s is ignored: when somebody else holds the lock, the code goes on without "+
					"it; return or wait", r.callText(site.call)),
			})
			continue
		}
		both := map[ssa.Instruction]bool{}
		for instr := range flow.outside {
			if flow.inside[instr] {
				both[instr] = true
			}
		}
		work := workIn(both)
		if len(work) == 0 {
			continue
		}
		at := work[0].Common().Pos()
		r.report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("when %s fails, the code goes on without the lock: %s at %s runs either way; return on the "+
				"error, or wait for the lock",
				r.callText(site.call), r.callText(work[0]), r.place(at, pos)),
			Related: []analysis.RelatedInformation{{Pos: at, Message: "runs with and without the lock"}},
		})
	}
}

// ignoresError reports whether nobody can know whether the acquire succeeded.
func (site *leaseSite) ignoresError() bool {
	if site.recv != nil {
		return unused(site.call)
	}
	if site.err < 0 {
		return false
	}
	for _, instr := range *site.call.Referrers() {
		ex, ok := instr.(*ssa.Extract)
		switch {
		case !ok || ex.Index == site.err && !unused(ex):
			return false
		case ex.Index == site.lease && !onlyCalled(ex):
			return false // compared with nil, or gone where it may be
		}
	}
	return true
}

// onlyCalled reports whether a lease is used for nothing but its methods.
func onlyCalled(lease ssa.Value) bool {
	for _, instr := range *lease.Referrers() {
		switch instr := instr.(type) {
		case ssa.CallInstruction:
			if handleOf(instr.Common()) != lease && instr.Common().Value != lease {
				return false
			}
		case *ssa.DebugRef:
		default:
			return false
		}
	}
	return true
}
