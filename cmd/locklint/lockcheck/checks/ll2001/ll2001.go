// Package ll2001 is the check LL2001; see doc.md.
package ll2001

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/locks"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
)

//go:embed doc.md
var page string

// Check is LL2001.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Run: checkOutcomes})

// checkOutcomes reports acquires of locks whose outcome nobody looks at.
func checkOutcomes(r *check.Reporter) {
	done := map[*rediscmd.Command]bool{}
	for _, l := range r.Index.Locks {
		checkOutcome(r, l.Acquire, l.Release, done)
	}
	for _, fn := range r.Index.Funcs {
		for _, c := range r.Index.Commands[fn] {
			if c.Op == ops.Acquire && c.Key.Known() && !c.NoTTL() && locks.TakesLock(c) && answers.AttentionTo(c) == answers.OnlyError {
				checkOutcome(r, c, nil, done)
			}
		}
	}
}

// checkOutcome reports an acquire whose outcome nobody looks at; release is nil if nothing in sight ends the lock.
func checkOutcome(r *check.Reporter, c, release *rediscmd.Command, done map[*rediscmd.Command]bool) {
	if done[c] || r.Index.InTest(c.Pos()) {
		return
	}
	done[c] = true
	how := answers.AttentionTo(c)
	if how == answers.Attentive || r.Index.LooksAgain(c) && !r.Index.AlwaysSame(c.Value, c.Fn) {
		return
	}
	why := "is ignored"
	if how == answers.OnlyError {
		why = "is ignored, only the error is looked at, and that is nil when somebody else holds the lock"
	}
	pos, end := r.Span(c)
	d := analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("the outcome of %s %s: everybody gets this lock; go on only if the key was set",
			c.What(), why),
	}
	if release != nil {
		d.Related = []analysis.RelatedInformation{{Pos: release.Pos(), Message: "it is a lock because it is released here"}}
	}
	r.ReportOnce(d)
}
