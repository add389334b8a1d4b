// Package ll4001 is the check LL4001; see doc.md.
package ll4001

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sqlcalls"
)

//go:embed doc.md
var page string

// Check is LL4001.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Off: true, Syntactic: true, Run: checkPools})

// checkPools reports locks of a session that are taken through a pool. A pool of one connection has one session.
func checkPools(r *check.Reporter) {
	calls := sqlcalls.Find(r.Pass)
	var unlock *sqlcalls.Call
	for _, c := range calls {
		if unlock == nil && c.Unlocks() && isPool(c) {
			unlock = c
		}
	}
	for _, c := range calls {
		if !isPool(c) || !c.Session() || c.InTest(r.Pass) || sqlcalls.OneConnection(r.Pass) {
			continue
		}
		d := analysis.Diagnostic{
			Pos: c.Expr.Pos(), End: c.Expr.End(),
			Message: fmt.Sprintf("%q goes through a pool: the lock belongs to the connection that happened to run it, which "+
				"others use next, and an unlock on another connection does nothing; take one connection out of the pool, and "+
				"lock, work and unlock on that", c.Statement()),
		}
		if unlock != nil {
			d.Related = []analysis.RelatedInformation{{Pos: unlock.Expr.Pos(), Message: "may run on another connection"}}
		}
		r.Report(d)
	}
}

func isPool(c *sqlcalls.Call) bool { return c.On == sqlcalls.Pool || c.On == sqlcalls.Handle }
