// Package ll1007 is the check LL1007; see doc.md.
package ll1007

import (
	_ "embed"
	"fmt"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
)

//go:embed doc.md
var page string

// Check is LL1007.
var Check = check.New(check.Spec{Page: page, Severity: check.Info, Off: true, Run: checkOrder})

// checkOrder reports pairs of locks that one function takes in one order and another in the other. Keys are compared by
// their shape, and only those that say something. The locks of AcquireAll are sorted and do not count among themselves.
func checkOrder(r *check.Reporter) {
	type pair struct{ first, second string }
	type seen struct {
		fn  *ssa.Function
		pos token.Pos
	}
	orders := map[pair]seen{}
	sections.Nestings(r.Criticals(), r.Index.Leases, func(s *sections.Section, outer, inner leases.Taken,
		call ssa.CallInstruction) {
		a, b := outer.Key.Shape(), inner.Key.Shape()
		if a == b || !outer.Key.Distinctive() || !inner.Key.Distinctive() || r.Index.InTest(s.Pos) {
			return
		}
		if _, ok := orders[pair{a, b}]; !ok {
			orders[pair{a, b}] = seen{s.Fn, call.Common().Pos()}
		}
		other, ok := orders[pair{b, a}]
		if !ok || other.fn == s.Fn {
			return
		}
		pos, end := r.CallSpan(call)
		r.Report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("the lock %s is taken while %s is held, and at %s it is the other way round: two callers "+
				"can wait for each other; choose one order, or take both with AcquireAll",
				inner.Key.Quoted(), outer.Key.Quoted(), r.Place(other.pos, pos)),
			Related: []analysis.RelatedInformation{{Pos: other.pos, Message: "the other order"}},
		})
	})
}
