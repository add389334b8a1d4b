// Package ll3007 is the check LL3007; see doc.md.
package ll3007

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL3007.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Off: true, Run: checkExpiries})

// checkExpiries reports locks whose constant time to live is shorter than the constant sleeps or timeouts of the work,
// where nothing in the function extends them.
func checkExpiries(r *check.Reporter) {
	for _, flow := range r.Flows(clients.IsPeer) {
		ttl, ok := r.Index.Leases.Expiry(flow.Site)
		if !ok || extends(flow.Fn) || r.Index.InTest(flow.Site.Call.Pos()) {
			continue
		}
		s := &sections.Section{Inside: flow.Inside}
		work, call := sections.VisibleWork(s.Calls())
		if work < ttl {
			continue
		}
		pos, end := r.CallSpan(call)
		r.Report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("the work takes up to %s, and the lock from %s at %s lasts %s: it expires before the work "+
				"is done; extend it meanwhile, or make it longer",
				work, flow.Site.Name, r.Place(flow.Site.Call.Pos(), pos), ttl),
			Related: []analysis.RelatedInformation{{Pos: flow.Site.Call.Pos(), Message: "acquired here"}},
		})
	}
}

// extends reports whether a function, or a literal in it, extends some lock.
func extends(fn *ssa.Function) bool {
	found := false
	ssax.EachCall(ssax.Outermost(fn), func(call ssa.CallInstruction) {
		handle := handles.Of(call.Common())
		found = found || handle != nil && handles.Is(handle.Type()) &&
			handles.VerbOf(call.Common(), handle) == handles.VerbExtend
	})
	return found
}
