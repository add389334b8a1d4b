package lockcheck

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll1002 = newCheck("LL1002",
	"release not deferred: a panic between acquire and release keeps the lock", Warning, false, checkDeferred)

// checkDeferred reports leases that are released on every path, but never by a deferred call, where work is done in
// between: a panic there skips the release, and if somebody recovers from it, as every HTTP server does, the renewal
// goes on. It is silent in tests and in main, where a panic ends the process.
func checkDeferred(r *reporter) {
	for _, flow := range r.flows(func(c client) bool { return c == lockRuntime }) {
		if len(flow.leaks) > 0 || !flow.released || flow.isDeferred() || len(flow.returned) > 0 || flow.site.optional {
			continue
		}
		if r.index.inTest(flow.site.call.Pos()) || isMain(flow.fn) {
			continue
		}
		work := workIn(flow.inside)
		if len(work) == 0 {
			continue
		}
		release := callsOf(flow.releases)[0]
		at := flow.site.call.Pos()
		pos, end := r.callSpan(release)
		advice := "defer it right after the error check"
		if reaches(release.Block(), flow.site.call.Block()) {
			advice = "put the body of the loop into a function that defers it, or use Do"
		}
		r.report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("this release of the lease from %s at %s is not deferred: a panic in %s at %s skips it and "+
				"keeps the lock; %s",
				flow.site.name, r.place(at, pos), r.callText(work[0]), r.place(work[0].Common().Pos(), pos), advice),
			Related: []analysis.RelatedInformation{
				{Pos: at, Message: "acquired here"},
				{Pos: work[0].Common().Pos(), Message: "a panic in here keeps the lock"},
			},
		})
	}
}

// isMain reports whether a function is main or init of a program.
func isMain(fn *ssa.Function) bool {
	fn = outermost(fn)
	return fn.Pkg != nil && fn.Pkg.Pkg.Name() == "main" && fn.Signature.Recv() == nil &&
		(fn.Name() == "main" || fn.Name() == "init")
}

// reaches reports whether a block can run after another: itself only if it can run twice.
func reaches(from, to *ssa.BasicBlock) bool {
	if from.Parent() != to.Parent() {
		return false
	}
	seen := map[*ssa.BasicBlock]bool{}
	reach := []*ssa.BasicBlock{from}
	for len(reach) > 0 {
		b := reach[0]
		reach = reach[1:]
		for _, s := range b.Succs {
			if s == to {
				return true
			}
			if !seen[s] {
				seen[s] = true
				reach = append(reach, s)
			}
		}
	}
	return false
}
