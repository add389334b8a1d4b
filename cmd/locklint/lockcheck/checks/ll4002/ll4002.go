// Package ll4002 is the check LL4002; see doc.md.
package ll4002

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sqlcalls"
)

//go:embed doc.md
var page string

// Check is LL4002.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Off: true, Syntactic: true, Run: checkTries})

// checkTries reports tries for a lock whose answer nobody looks at. That somebody else has the lock is no error.
func checkTries(r *check.Reporter) {
	for _, c := range sqlcalls.Find(r.Pass) {
		if !c.Tries() || c.Unlocks() || c.InTest(r.Pass) {
			continue
		}
		why := ""
		switch c.AttentionTo(r.Pass) {
		case sqlcalls.Dropped:
			why = fmt.Sprintf("%s drops the answer", c.Name)
		case sqlcalls.Unread:
			why = "nobody looks at the answer"
		case sqlcalls.OnlyValid:
			why = "only NULL is told apart, and 0 is the answer when somebody else has the lock"
		default:
			continue
		}
		r.Report(analysis.Diagnostic{
			Pos: c.Expr.Pos(), End: c.Expr.End(),
			Message: fmt.Sprintf("%q says whether it has got the lock, and %s: everybody gets this lock; read the answer, and "+
				"go on only with true or 1", c.Statement(), why),
		})
	}
}
