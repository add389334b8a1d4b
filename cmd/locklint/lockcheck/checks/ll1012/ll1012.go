// Package ll1012 is the check LL1012; see doc.md.
package ll1012

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/fixes"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL1012.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Fixable: true, Run: checkHasty})

// checkHasty reports methods that are called on a lease before anybody has looked whether there is one. Release does
// not count: of no lease it does nothing.
func checkHasty(r *check.Reporter) {
	for _, flow := range r.Flows(func(c clients.Client) bool { return c == clients.Runtime }) {
		if len(flow.Hasty) == 0 || r.Index.InTest(flow.Site.Call.Pos()) {
			continue
		}
		use := ssax.CallsOf(flow.Hasty)[0]
		pos, end := r.CallSpan(use)
		d := analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s runs before anybody has checked whether %s at %s got the lock: without it there is no "+
				"lease, its fence is 0 and its context is over",
				r.CallText(use), flow.Site.Name, r.Place(flow.Site.Call.Pos(), pos)),
			Related: []analysis.RelatedInformation{{Pos: flow.Site.Call.Pos(), Message: "acquired here"}},
		}
		if b := fixes.BlockOf(r, flow.Site); b != nil {
			if fix := b.CheckFirst(r, use); fix != nil {
				d.SuggestedFixes = []analysis.SuggestedFix{*fix}
			}
		}
		r.Report(d)
	}
}
