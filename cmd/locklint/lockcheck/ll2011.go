package lockcheck

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
)

var ll2011 = newCheck("LL2011",
	"INCR used as a lock: losers push the TTL, the count never returns to 0 after a crash", Warning, false, checkCounters)

// checkCounters reports counters that serve as locks.
func checkCounters(r *reporter) {
	done := map[*command]bool{}
	for _, l := range r.index.counters {
		c := l.acquire
		if l.judged || done[c.root()] || r.index.inTest(c.pos()) {
			continue
		}
		done[c.root()] = true
		pos, end := r.span(c)
		d := analysis.Diagnostic{
			Pos: pos, End: end,
			Related: []analysis.RelatedInformation{{Pos: l.release.pos(), Message: "it is a lock because it is released here"}},
		}
		harm := fmt.Sprintf("without an expiry a crash before the %s at %s leaves the count above 0 for ever",
			l.release.name, r.place(l.release.pos(), c.pos()))
		if e := r.index.anyExpiry(c); e != nil {
			harm = fmt.Sprintf("losers raise the count too, and the %s at %s runs in a second step: a crash before it leaves "+
				"the count above 0 for ever",
				e.name, r.place(e.pos(), c.pos()))
			if whenHeld(c, e.call) != onlyHeld {
				harm = fmt.Sprintf("every loser runs the %s at %s too and prolongs the lock of a holder that has crashed",
					e.name, r.place(e.pos(), c.pos()))
			}
			d.Related = append(d.Related, analysis.RelatedInformation{Pos: e.pos(), Message: "the expiry is set here"})
		}
		d.Message = fmt.Sprintf("%s is used as a lock: %s; use SET key token NX PX ttl", c.what(), harm)
		r.report(d)
	}
}

// anyExpiry returns the EXPIRE that belongs to a counter in its own function, nil if there is none.
func (ix *index) anyExpiry(c *command) *command {
	for _, e := range ix.commands[c.fn] {
		if e.op == opExpire && e.key.String() == c.key.String() && e.call != c.call {
			return e
		}
	}
	return nil
}
