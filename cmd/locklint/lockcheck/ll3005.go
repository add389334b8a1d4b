package lockcheck

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
)

var ll3005 = newCheck("LL3005", "releases when not acquired", Warning, true, checkUndue)

// checkUndue reports releases that run although the acquire has failed: most often a defer that stands before the error
// check. What then happens depends on the library.
func checkUndue(r *reporter) {
	for _, flow := range r.flows(isPeer) {
		if len(flow.undue) == 0 || r.index.inTest(flow.site.call.Pos()) {
			continue
		}
		release := callsOf(flow.undue)[0]
		pos, end := r.callSpan(release)
		d := analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s runs also when %s at %s has failed: %s; release behind the error check",
				r.callText(release), r.callText(flow.site.call), r.place(flow.site.call.Pos(), pos),
				undueEffect[flow.site.library]),
			Related: []analysis.RelatedInformation{{Pos: flow.site.call.Pos(), Message: "acquired here"}},
		}
		if b := r.blockOf(flow.site); b != nil {
			stmt := release
			if d := deferOf(release, flow.fn); d != nil {
				stmt = d
			}
			if at := b.holds(stmt); at >= 0 {
				if fix := r.move("release behind the error check", b.list[at], b.list[b.check]); fix != nil {
					d.SuggestedFixes = []analysis.SuggestedFix{*fix}
				}
			}
		}
		r.report(d)
	}
}

var undueEffect = map[client]string{
	redsync:     "it deletes with an old or empty token, and its error hides that of the acquire",
	redislock:   "there is no lock then, and the versions before 0.9.2 dereference nil",
	rueidislock: "the function to release may be nil then, and calling it panics",
}
