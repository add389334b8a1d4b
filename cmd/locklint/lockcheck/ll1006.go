package lockcheck

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll1006 = newCheck("LL1006",
	"nested acquisition of the same key in one call chain: self-deadlock", Error, false, checkNesting)

// checkNesting reports acquires of a key that the call chain holds already, in the section itself or in the functions
// that it calls on every path. The keys and the lockers must be the same expressions, and the inner acquire must not be
// reentrant; deferred calls and goroutines are not followed.
func checkNesting(r *reporter) {
	done := map[ssa.CallInstruction]bool{}
	r.eachNesting(func(s *critical, outer, inner takenLock, call ssa.CallInstruction) {
		if outer.Key.String() != inner.Key.String() || outer.Locker.String() != inner.Locker.String() {
			return
		}
		at := call // where people can do something about it: not in generated code
		if r.ignores.generated[r.pass.Fset.Position(at.Common().Pos()).Filename] && inner.call != nil {
			at = inner.call
		}
		if done[at] || r.index.inTest(at.Common().Pos()) {
			return
		}
		done[at] = true
		pos, end := r.callSpan(at)
		d := analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s takes the lock %s, which this call chain holds since %s at %s: the inner acquire fails "+
				"with ErrNested, or waits for itself if it is given the outer context; call what does not lock, or set Reentrant",
				r.callText(at), outer.Key.keyText(), s.name, r.place(s.pos, pos)),
			Related: []analysis.RelatedInformation{{Pos: s.pos, Message: "held since here"}},
		}
		if inner.call != nil && inner.call != at {
			d.Related = append(d.Related, analysis.RelatedInformation{Pos: inner.call.Common().Pos(),
				Message: "acquired again here"})
		}
		r.report(d)
	})
}

// eachNesting visits the locks that are taken while another is held: inner is taken by a call in the section of outer.
func (r *reporter) eachNesting(visit func(s *critical, outer, inner takenLock, call ssa.CallInstruction)) {
	for _, s := range r.criticals() {
		if s.call == nil {
			continue // the section of a directive is that of its wrapper, too
		}
		held := r.index.leases.taken(s.call)
		if len(held) == 0 {
			continue
		}
		for _, call := range s.calls() {
			if _, ok := call.(*ssa.Call); !ok || call == ssa.CallInstruction(s.call) {
				continue
			}
			for _, inner := range r.index.leases.taken(call) {
				for _, outer := range held {
					visit(s, outer, inner, call)
				}
			}
		}
	}
}
