// Package ll1006 is the check LL1006; see doc.md.
package ll1006

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
)

//go:embed doc.md
var page string

// Check is LL1006.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Run: checkNesting})

// checkNesting reports acquires of a key that the call chain holds already, in the section itself or in the functions
// that it calls on every path. The keys and the lockers must be the same expressions, and the inner acquire must not be
// reentrant; deferred calls and goroutines are not followed.
func checkNesting(r *check.Reporter) {
	done := map[ssa.CallInstruction]bool{}
	sections.Nestings(r.Criticals(), r.Index.Leases, func(s *sections.Section, outer, inner leases.Taken,
		call ssa.CallInstruction) {
		if outer.Key.String() != inner.Key.String() || outer.Locker.String() != inner.Locker.String() {
			return
		}
		at := call // where people can do something about it: not in generated code
		if r.Ignores.Generated[r.Pass.Fset.Position(at.Common().Pos()).Filename] && inner.Call() != nil {
			at = inner.Call()
		}
		if done[at] || r.Index.InTest(at.Common().Pos()) {
			return
		}
		done[at] = true
		pos, end := r.CallSpan(at)
		d := analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s takes the lock %s, which this call chain holds since %s at %s: the inner acquire fails "+
				"with ErrNested, or waits for itself if it is given the outer context; call what does not lock, or set Reentrant",
				r.CallText(at), outer.Key.Quoted(), s.Name, r.Place(s.Pos, pos)),
			Related: []analysis.RelatedInformation{{Pos: s.Pos, Message: "held since here"}},
		}
		if inner.Call() != nil && inner.Call() != at {
			d.Related = append(d.Related, analysis.RelatedInformation{Pos: inner.Call().Common().Pos(),
				Message: "acquired again here"})
		}
		r.Report(d)
	})
}
