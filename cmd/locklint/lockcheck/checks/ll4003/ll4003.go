// Package ll4003 is the check LL4003; see doc.md.
package ll4003

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sqlcalls"
)

//go:embed doc.md
var page string

// Check is LL4003.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Off: true, Syntactic: true, Run: checkRowLocks})

// checkRowLocks reports locks that end with their transaction and are taken outside of one: each statement that goes
// through a pool is a transaction of its own.
func checkRowLocks(r *check.Reporter) {
	for _, c := range sqlcalls.Find(r.Pass) {
		if c.On != sqlcalls.Pool || !c.Rows() || c.InTest(r.Pass) {
			continue
		}
		r.Report(analysis.Diagnostic{
			Pos: c.Expr.Pos(), End: c.Expr.End(),
			Message: fmt.Sprintf("%q runs outside of a transaction: its lock is over when the statement is, before anything can "+
				"be done under it; begin a transaction, and send it and what it protects through that", c.Statement()),
		})
	}
}
