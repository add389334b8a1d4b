// Package ll2011 is the check LL2011; see doc.md.
package ll2011

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/index"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
)

//go:embed doc.md
var page string

// Check is LL2011.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Run: checkCounters})

// checkCounters reports counters that serve as locks.
func checkCounters(r *check.Reporter) {
	done := map[*rediscmd.Command]bool{}
	for _, l := range r.Index.Counters {
		c := l.Acquire
		if l.Judged || done[c.Root()] || r.Index.InTest(c.Pos()) {
			continue
		}
		done[c.Root()] = true
		pos, end := r.Span(c)
		d := analysis.Diagnostic{
			Pos: pos, End: end,
			Related: []analysis.RelatedInformation{{Pos: l.Release.Pos(), Message: "it is a lock because it is released here"}},
		}
		harm := fmt.Sprintf("without an expiry a crash before the %s at %s leaves the count above 0 for ever",
			l.Release.Name, r.Place(l.Release.Pos(), c.Pos()))
		if e := anyExpiry(r.Index, c); e != nil {
			harm = fmt.Sprintf("losers raise the count too, and the %s at %s runs in a second step: a crash before it leaves "+
				"the count above 0 for ever",
				e.Name, r.Place(e.Pos(), c.Pos()))
			if answers.WhenHeld(c, e.Call) != answers.OnlyHeld {
				harm = fmt.Sprintf("every loser runs the %s at %s too and prolongs the lock of a holder that has crashed",
					e.Name, r.Place(e.Pos(), c.Pos()))
			}
			d.Related = append(d.Related, analysis.RelatedInformation{Pos: e.Pos(), Message: "the expiry is set here"})
		}
		d.Message = fmt.Sprintf("%s is used as a lock: %s; use SET key token NX PX ttl", c.What(), harm)
		r.ReportOnce(d)
	}
}

// anyExpiry returns the EXPIRE that belongs to a counter in its own function, nil if there is none.
func anyExpiry(ix *index.Index, c *rediscmd.Command) *rediscmd.Command {
	for _, e := range ix.Commands[c.Fn] {
		if e.Op == ops.Expire && e.Key.String() == c.Key.String() && e.Call != c.Call {
			return e
		}
	}
	return nil
}
