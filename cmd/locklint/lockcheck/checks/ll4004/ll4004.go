// Package ll4004 is the check LL4004; see doc.md.
package ll4004

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sqlcalls"
)

//go:embed doc.md
var page string

// Check is LL4004.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Off: true, Syntactic: true, Run: checkSessions})

// checkSessions reports locks of a session that outlive the work: nothing in the package unlocks them, and the
// connection goes back to its pool, or one way out of the function that unlocks them does not.
func checkSessions(r *check.Reporter) {
	unlocks := sqlcalls.MentionsUnlock(r.Pass)
	for _, c := range sqlcalls.Find(r.Pass) {
		if !c.Session() || c.InTest(r.Pass) || c.On != sqlcalls.Connection && c.On != sqlcalls.Transaction {
			continue
		}
		d := analysis.Diagnostic{Pos: c.Expr.Pos(), End: c.Expr.End()}
		switch left := c.LeftLocked(r.Pass); {
		case unlocks && left != nil:
			d.Message = fmt.Sprintf("the lock of %q is not released on every path: the return at %s leaves it to the "+
				"connection, which goes back to its pool with it; defer the unlock", c.Statement(),
				r.Place(left.Pos(), c.Expr.Pos()))
			d.Related = []analysis.RelatedInformation{{Pos: left.Pos(), Message: "returns with the lock held"}}
		case unlocks:
			continue
		case c.On == sqlcalls.Transaction:
			d.Message = fmt.Sprintf("the lock of %q outlives the transaction: it belongs to the session, nothing here unlocks "+
				"it, and the connection goes back to its pool with it; unlock it, or take pg_advisory_xact_lock on "+
				"PostgreSQL, which ends with the transaction", c.Statement())
		case sqlcalls.GivesBack(r.Pass, c.Recv):
			d.Message = fmt.Sprintf("nothing here unlocks the lock of %q, and the connection goes back to its pool with it; "+
				"defer the unlock on the same connection", c.Statement())
		default:
			continue
		}
		r.Report(d)
	}
}
