package lockcheck

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll1013 = newCheck("LL1013", "deferred release inside a loop", Warning, false, checkLoopDefers)

// checkLoopDefers reports deferred releases after which the acquire can run again: all the leases of the loop are held
// until the function returns. A loop that is left right after the defer is fine, it only tries again what failed.
func checkLoopDefers(r *reporter) {
	for _, flow := range r.flows(func(c client) bool { return c == lockRuntime }) {
		for _, release := range callsOf(flow.releases) {
			d := deferOf(release, flow.fn)
			if d == nil || !reaches(d.Block(), flow.site.call.Block()) {
				continue
			}
			pos, end := r.callSpan(d)
			r.report(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("this release is deferred inside a loop: every lease from %s at %s is held until the "+
					"function returns; put the body of the loop into a function of its own, or use Do",
					flow.site.name, r.place(flow.site.call.Pos(), pos)),
				Related: []analysis.RelatedInformation{{Pos: flow.site.call.Pos(), Message: "acquired here, once for each " +
					"iteration"}},
			})
			break
		}
	}
}

// deferOf is the defer statement of a function by which a call comes to run: its own, or that of the literal around it.
// Nil if it is not deferred.
func deferOf(call ssa.CallInstruction, fn *ssa.Function) *ssa.Defer {
	if d, ok := call.(*ssa.Defer); ok && d.Parent() == fn {
		return d
	}
	lit := call.Parent()
	for lit.Parent() != nil && lit.Parent() != fn {
		lit = lit.Parent()
	}
	if lit == fn || lit.Parent() == nil {
		return nil
	}
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			if d, ok := instr.(*ssa.Defer); ok && literal(d.Common()) == lit {
				return d
			}
		}
	}
	return nil
}
