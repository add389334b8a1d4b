// Package ll3005 is the check LL3005; see doc.md.
package ll3005

import (
	_ "embed"
	"fmt"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/fixes"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL3005.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Fixable: true, Run: checkUndue})

// checkUndue reports releases that run although the acquire has failed: most often a defer that stands before the error
// check. What then happens depends on the library.
func checkUndue(r *check.Reporter) {
	for _, flow := range r.Flows(clients.IsPeer) {
		undue := slices.DeleteFunc(ssax.CallsOf(flow.Undue), func(release ssa.CallInstruction) bool {
			return ofAnother(r, flow.Site, release)
		})
		if len(undue) == 0 || r.Index.InTest(flow.Site.Call.Pos()) {
			continue
		}
		release := undue[0]
		pos, end := r.CallSpan(release)
		d := analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s runs also when %s at %s has failed: %s; release behind the error check",
				r.CallText(release), r.CallText(flow.Site.Call), r.Place(flow.Site.Call.Pos(), pos),
				effectOf(flow.Site, release)),
			Related: []analysis.RelatedInformation{{Pos: flow.Site.Call.Pos(), Message: "acquired here"}},
		}
		if b := fixes.BlockOf(r, flow.Site); b != nil {
			stmt := release
			if d := ssax.DeferOf(release, flow.Fn); d != nil {
				stmt = d
			}
			if fix := b.ReleaseBehind(r, stmt, release); fix != nil {
				d.SuggestedFixes = []analysis.SuggestedFix{*fix}
			}
		}
		r.Report(d)
	}
}

// effectOf says what a release does where the acquire has failed.
func effectOf(site *leases.Site, release ssa.CallInstruction) string {
	m, ok := ssax.MethodOf(release.Common())
	if ok && m.Recv != nil && site.Recv == nil && clients.OfPackage(m.Obj.Pkg()) == clients.None {
		return "there is no lock then, and its receiver may be nil"
	}
	return undueEffect[site.Library]
}

var undueEffect = map[clients.Client]string{
	clients.Redsync:     "it deletes with an old or empty token, and its error hides that of the acquire",
	clients.Redislock:   "there is no lock then, and the versions before 0.9.2 dereference nil",
	clients.Rueidislock: nilFunc,
	clients.ByHand:      nilFunc,
}

// ofAnother reports whether a release is that of another element of a list than the one whose acquire has failed, as where
// those are rolled back that had been locked before.
func ofAnother(r *check.Reporter, site *leases.Site, release ssa.CallInstruction) bool {
	mine, other := indexOf(site.Recv), indexOf(r.Index.Leases.HandleOf(release.Common()))
	return mine != nil && other != nil && mine != other
}

// indexOf is the index of the element of a list that a value is read from, nil if it is none.
func indexOf(v ssa.Value) ssa.Value {
	for range ssax.MaxDepth {
		switch of := v.(type) {
		case *ssa.UnOp:
			v = of.X
		case *ssa.FieldAddr:
			v = of.X
		case *ssa.IndexAddr:
			return of.Index
		default:
			return nil
		}
	}
	return nil
}

const nilFunc = "the function to release may be nil then, and calling it panics"
