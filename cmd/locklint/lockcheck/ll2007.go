package lockcheck

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
)

var ll2007 = newCheck("LL2007", "lock without expiry", Error, false, checkExpiry)

// checkExpiry reports locks that stay when their holder dies. One that gets its expiry later is another check's
// business, one whose value is the time at which it ends has an expiry of its own kind.
func checkExpiry(r *reporter) {
	done := map[*command]bool{}
	for _, l := range r.index.locks {
		a := l.acquire
		if l.judged || done[a.root()] || !a.noTTL() || a.wrong != "" || r.index.inTest(a.pos()) {
			continue
		}
		if r.index.getsExpiry(a) || r.index.isTimeLock(a) {
			continue
		}
		done[a.root()] = true
		pos, end := r.span(a)
		r.report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s takes this lock without an expiry: a holder that crashes before the %s at %s leaves it "+
				"locked until somebody deletes the key by hand; set the expiry in the same command: SET key token NX PX ttl",
				a.what(), l.release.name, r.place(l.release.pos(), a.pos())),
			Related: []analysis.RelatedInformation{{Pos: l.release.pos(), Message: "only this release ends the lock"}},
		})
	}
}

// getsExpiry reports whether anything in the package gives an expiry to the key of an acquire, or to one like it.
func (ix *index) getsExpiry(a *command) bool {
	for _, cmds := range ix.commands {
		for _, c := range cmds {
			if (c.op == opExpire || c.op == opCompareExpire) && ix.related(a, c) {
				return true
			}
		}
	}
	return false
}
