// Package ll1002 is the check LL1002; see doc.md.
package ll1002

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL1002.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Run: checkDeferred})

// checkDeferred reports leases that are released on every path, but never by a deferred call, where work is done in
// between: a panic there skips the release, and if somebody recovers from it, as every HTTP server does, the renewal
// goes on. It is silent in tests and in main, where a panic ends the process.
func checkDeferred(r *check.Reporter) {
	for _, flow := range r.Flows(func(c clients.Client) bool { return c == clients.Runtime }) {
		if len(flow.Leaks) > 0 || !flow.Released || flow.IsDeferred() || len(flow.Returned) > 0 || flow.Site.Optional {
			continue
		}
		if r.Index.InTest(flow.Site.Call.Pos()) || ssax.IsMain(flow.Fn) {
			continue
		}
		work := sections.WorkIn(flow.Inside)
		if len(work) == 0 {
			continue
		}
		release := ssax.CallsOf(flow.Releases)[0]
		at := flow.Site.Call.Pos()
		pos, end := r.CallSpan(release)
		advice := "defer it right after the error check"
		switch {
		case flow.HandedOn:
			advice = "defer one that runs unless the lease is handed over"
		case ssax.Reaches(release.Block(), flow.Site.Call.Block()):
			advice = "put the body of the loop into a function that defers it, or use Do"
		}
		r.Report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("this release of the lease from %s at %s is not deferred: a panic in %s at %s skips it and "+
				"keeps the lock; %s",
				flow.Site.Name, r.Place(at, pos), r.CallText(work[0]), r.Place(work[0].Common().Pos(), pos), advice),
			Related: []analysis.RelatedInformation{
				{Pos: at, Message: "acquired here"},
				{Pos: work[0].Common().Pos(), Message: "a panic in here keeps the lock"},
			},
		})
	}
}
