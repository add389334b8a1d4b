// Package ll1019 is the check LL1019; see doc.md.
package ll1019

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/fences"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
)

//go:embed doc.md
var page string

// Check is LL1019.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Run: checkFences})

// checkFences reports guarded writes, and calls of what is marked //lock:fenced, in sections whose locks are all held to
// read.
func checkFences(r *check.Reporter) {
	done := map[ssa.CallInstruction]bool{}
	for _, s := range r.Criticals() {
		if !s.All(leases.Reads) || r.Index.InTest(s.Pos) {
			continue
		}
		for _, call := range s.Calls() {
			c := call.Common()
			if done[call] || !fences.GuardsTx(c) && !fences.Writes(c) && !r.Index.IsFenced(c) {
				continue
			}
			done[call] = true
			pos, end := r.CallSpan(call)
			r.Report(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("%s lets a write pass by the fence of the lock from %s at %s, which is held to read: all "+
					"readers at a time have the same fence, so it keeps none of them from writing over another; take the lock to "+
					"write, or only check the fence", r.CallText(call), s.Name, r.Place(s.Pos, pos)),
				Related: []analysis.RelatedInformation{{Pos: s.Pos, Message: "acquired to read here"}},
			})
		}
	}
}
