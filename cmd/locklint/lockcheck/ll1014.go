package lockcheck

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll1014 = newCheck("LL1014", "os.Exit or log.Fatal while holding a lock", Info, false, checkExits)

// checkExits reports calls that end the process while a lease is held: deferred releases do not run, and the lock stays
// until its TTL. Tests are left alone.
func checkExits(r *reporter) {
	done := map[ssa.Instruction]bool{}
	for _, s := range r.criticals() {
		for _, call := range s.calls() {
			if done[call] || !isExit(call.Common()) || r.index.inTest(call.Common().Pos()) {
				continue
			}
			done[call] = true
			pos, end := r.callSpan(call)
			r.report(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("%s ends the process with the lock from %s at %s held: deferred releases do not run, and "+
					"everybody waits for its TTL; release it first, or return an error",
					r.callText(call), s.name, r.place(s.pos, pos)),
				Related: []analysis.RelatedInformation{{Pos: s.pos, Message: "acquired here"}},
			})
		}
	}
}
