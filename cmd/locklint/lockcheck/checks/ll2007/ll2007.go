// Package ll2007 is the check LL2007; see doc.md.
package ll2007

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/index"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
)

//go:embed doc.md
var page string

// Check is LL2007.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Run: checkExpiry})

// checkExpiry reports locks that stay when their holder dies. One that gets its expiry later is another check's
// business, one whose value is the time at which it ends has an expiry of its own kind.
func checkExpiry(r *check.Reporter) {
	done := map[*rediscmd.Command]bool{}
	for _, l := range r.Index.Locks {
		a := l.Acquire
		whose := a.Root()
		if a.GivenTTL {
			whose = a
		}
		if l.Judged && !a.GivenTTL || done[whose] || !a.NoTTL() || a.Wrong != "" || r.Index.InTest(a.Pos()) {
			continue
		}
		if getsExpiry(r.Index, a) || r.Index.IsTimeLock(a) {
			continue
		}
		done[whose] = true
		mend := "set the expiry in the same command: SET key token NX PX ttl"
		if a.GivenTTL {
			mend = "hand " + a.Via + " a time after which the lock is to end"
		}
		pos, end := r.Span(a)
		r.ReportOnce(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s takes this lock without an expiry: a holder that crashes before the %s at %s leaves it "+
				"locked until somebody deletes the key by hand; %s",
				a.What(), l.Release.Name, r.Place(l.Release.Pos(), a.Pos()), mend),
			Related: []analysis.RelatedInformation{{Pos: l.Release.Pos(), Message: "only this release ends the lock"}},
		})
	}
}

// getsExpiry reports whether anything in the package gives an expiry to the key of an acquire, or to one like it.
func getsExpiry(ix *index.Index, a *rediscmd.Command) bool {
	for _, cmds := range ix.Commands {
		for _, c := range cmds {
			if (c.Op == ops.Expire || c.Op == ops.CompareExpire) && ix.Related(a, c) {
				return true
			}
		}
	}
	return false
}
