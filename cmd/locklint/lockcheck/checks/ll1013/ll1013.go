// Package ll1013 is the check LL1013; see doc.md.
package ll1013

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL1013.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Run: checkLoopDefers})

// checkLoopDefers reports deferred releases after which the acquire can run again: all the leases of the loop are held
// until the function returns. A loop that is left right after the defer is fine, it only tries again what failed.
func checkLoopDefers(r *check.Reporter) {
	for _, flow := range r.Flows(func(c clients.Client) bool { return c == clients.Runtime }) {
		for _, release := range ssax.CallsOf(flow.Releases) {
			d := ssax.DeferOf(release, flow.Fn)
			if d == nil || !ssax.Reaches(d.Block(), flow.Site.Call.Block()) {
				continue
			}
			pos, end := r.CallSpan(d)
			r.Report(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("this release is deferred inside a loop: every lease from %s at %s is held until the "+
					"function returns; put the body of the loop into a function of its own, or use Do",
					flow.Site.Name, r.Place(flow.Site.Call.Pos(), pos)),
				Related: []analysis.RelatedInformation{{Pos: flow.Site.Call.Pos(), Message: "acquired here, once for each " +
					"iteration"}},
			})
			break
		}
	}
}
