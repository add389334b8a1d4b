// Package ll2008 is the check LL2008; see doc.md.
package ll2008

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/locks"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL2008.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Run: checkRenewals})

// checkRenewals reports commands that prolong a lock whoever holds it by then.
func checkRenewals(r *check.Reporter) {
	for _, l := range r.Index.Renewals {
		reportRenewal(r, l.Acquire, r.Index.Blamed(renewal(l.Release)))
	}
}

// renewal is the command to blame: a function that prolongs again and again is there for that, whoever calls it.
func renewal(c *rediscmd.Command) *rediscmd.Command {
	c = locks.Responsible(c)
	for o := c; o != nil; o = o.Origin {
		if ssax.Reaches(o.Call.Block(), o.Call.Block()) {
			return o
		}
	}
	return c
}

func reportRenewal(r *check.Reporter, a, e *rediscmd.Command) {
	pos, end := r.Span(e)
	r.ReportOnce(analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("%s prolongs this lock without asking whose it is: if the %s at %s has expired meanwhile, it "+
			"prolongs the lock of the next holder, and the old one never learns that it has lost its own; compare the token "+
			"and prolong in one script",
			e.What(), a.Name, r.Place(a.Pos(), e.Pos())),
		Related: []analysis.RelatedInformation{{Pos: a.Pos(), Message: "the lock is acquired here"}},
	})
}
