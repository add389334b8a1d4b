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
// reentrant; deferred calls and goroutines are not followed. Who holds a key together with others and asks to hold it
// alone waits for itself, reentrant or not.
func checkNesting(r *check.Reporter) {
	done := map[ssa.CallInstruction]bool{}
	sections.Nestings(r.Criticals(), r.Index.Leases, func(s *sections.Section, outer, inner leases.Taken,
		call ssa.CallInstruction) {
		upgrade := outer.Kind != leases.Writes && inner.Kind == leases.Writes
		if outer.Key.String() != inner.Key.String() || outer.Locker.String() != inner.Locker.String() ||
			inner.Reentrant && !upgrade {
			return
		}
		at := r.ByHand(call, inner.Call())
		if done[at] || r.Index.InTest(at.Common().Pos()) {
			return
		}
		done[at] = true
		pos, end := r.CallSpan(at)
		d := analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s takes the lock %s, which this call chain holds since %s at %s: %s", r.CallText(at),
				outer.Key.Quoted(), s.Name, r.Place(s.Pos, pos), outcome(outer.Kind, inner.Kind)),
			Related: []analysis.RelatedInformation{{Pos: s.Pos, Message: "held since here"}},
		}
		if inner.Call() != nil && inner.Call() != at {
			d.Related = append(d.Related, analysis.RelatedInformation{Pos: inner.Call().Common().Pos(),
				Message: "acquired again here"})
		}
		r.Report(d)
	})
}

// outcome is what comes of taking a lock that is held, and what to do.
func outcome(outer, inner leases.Kind) string {
	switch {
	case outer != leases.Writes && inner == leases.Writes:
		return "it is held together with others, and to hold it alone the inner acquire would wait for them, and one of them " +
			"that does the same for this one: it fails with ErrUpgrade, Reentrant or not; release the lock, acquire it to " +
			"write, and look again at what was read"
	case outer == leases.Reads && inner == leases.Reads:
		return "the inner acquire fails with ErrNested, or waits behind a writer that waits for the outer one if it is given the " +
			"outer context; call what does not lock, or set Reentrant"
	case outer == leases.Writes && inner == leases.Reads:
		return "the inner acquire fails with ErrNested, or waits for itself if it is given the outer context; who writes may " +
			"read, so call what does not lock, set Reentrant, or let others read with Downgrade"
	}
	return "the inner acquire fails with ErrNested, or waits for itself if it is given the outer context; call what does " +
		"not lock, or set Reentrant"
}
