// Package ll1007 is the check LL1007; see doc.md.
package ll1007

import (
	_ "embed"
	"fmt"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
)

//go:embed doc.md
var page string

// Check is LL1007.
var Check = check.New(check.Spec{Page: page, Severity: check.Info, Off: true, Run: checkOrder})

// An order is a place where one lock is taken while another is held. It does not matter how: a reader stands behind a
// writer who waits for another reader.
type order struct {
	fn  *ssa.Function
	pos token.Pos
}

func (o order) elsewhere(other order) bool { return o.fn != other.fn }

// says reports whether a key means the same in two functions: a constant does, however short.
func says(key keyexpr.Expr) bool { return key.Op == keyexpr.Lit || key.Distinctive() }

// checkOrder reports pairs of locks that one function takes in one order and another in the other. Keys are compared by
// their shape, and only those that say something. The locks of AcquireAll are sorted and do not count among themselves.
func checkOrder(r *check.Reporter) {
	type pair struct{ first, second string }
	orders := map[pair][]order{}
	sections.Nestings(r.Criticals(), r.Index.Leases, func(s *sections.Section, outer, inner leases.Taken,
		call ssa.CallInstruction) {
		a, b := outer.Key.Shape(), inner.Key.Shape()
		if a == b || !says(outer.Key) || !says(inner.Key) || inner.Reentrant || r.Index.InTest(s.Pos) {
			return
		}
		at := r.ByHand(call, inner.Call())
		this := order{s.Fn, at.Common().Pos()}
		orders[pair{a, b}] = append(orders[pair{a, b}], this)
		i := slices.IndexFunc(orders[pair{b, a}], this.elsewhere)
		if i < 0 {
			return
		}
		other := orders[pair{b, a}][i]
		pos, end := r.CallSpan(at)
		r.Report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("the lock %s is taken while %s is held, and at %s it is the other way round: two callers "+
				"can wait for each other; choose one order, or take both with AcquireAll",
				inner.Key.Quoted(), outer.Key.Quoted(), r.Place(other.pos, pos)),
			Related: []analysis.RelatedInformation{{Pos: other.pos, Message: "the other order"}},
		})
	})
}
