package lockcheck

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
)

var ll1012 = newCheck("LL1012", "lease used before the error check", Error, true, checkHasty)

// checkHasty reports methods that are called on a lease before anybody has looked whether there is one. Release does
// not count: of no lease it does nothing.
func checkHasty(r *reporter) {
	for _, flow := range r.flows(func(c client) bool { return c == lockRuntime }) {
		if len(flow.hasty) == 0 || r.index.inTest(flow.site.call.Pos()) {
			continue
		}
		use := callsOf(flow.hasty)[0]
		pos, end := r.callSpan(use)
		d := analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s runs before anybody has checked whether %s at %s got the lock: without it there is no "+
				"lease, its fence is 0 and its context is over",
				r.callText(use), flow.site.name, r.place(flow.site.call.Pos(), pos)),
			Related: []analysis.RelatedInformation{{Pos: flow.site.call.Pos(), Message: "acquired here"}},
		}
		if b := r.blockOf(flow.site); b != nil && b.holds(use) >= 0 {
			if fix := r.move("check the error first", b.list[b.check], b.list[b.assign]); fix != nil {
				d.SuggestedFixes = []analysis.SuggestedFix{*fix}
			}
		}
		r.report(d)
	}
}
