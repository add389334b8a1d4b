package lockcheck

import (
	"fmt"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll1007 = newCheck("LL1007", "inconsistent lock order between functions", Info, false, checkOrder).off()

// checkOrder reports pairs of locks that one function takes in one order and another in the other. Keys are compared by
// their shape, and only those that say something. The locks of AcquireAll are sorted and do not count among themselves.
func checkOrder(r *reporter) {
	type pair struct{ first, second string }
	type seen struct {
		fn  *ssa.Function
		pos token.Pos
	}
	orders := map[pair]seen{}
	r.eachNesting(func(s *critical, outer, inner takenLock, call ssa.CallInstruction) {
		a, b := outer.Key.shape(), inner.Key.shape()
		if a == b || !outer.Key.distinctive() || !inner.Key.distinctive() || r.index.inTest(s.pos) {
			return
		}
		if _, ok := orders[pair{a, b}]; !ok {
			orders[pair{a, b}] = seen{s.fn, call.Common().Pos()}
		}
		other, ok := orders[pair{b, a}]
		if !ok || other.fn == s.fn {
			return
		}
		pos, end := r.callSpan(call)
		r.report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("the lock %s is taken while %s is held, and at %s it is the other way round: two callers "+
				"can wait for each other; choose one order, or take both with AcquireAll",
				inner.Key.keyText(), outer.Key.keyText(), r.place(other.pos, pos)),
			Related: []analysis.RelatedInformation{{Pos: other.pos, Message: "the other order"}},
		})
	})
}
