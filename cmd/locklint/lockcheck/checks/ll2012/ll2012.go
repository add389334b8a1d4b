// Package ll2012 is the check LL2012; see doc.md.
package ll2012

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/index"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
)

//go:embed doc.md
var page string

// Check is LL2012.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Off: true, Run: checkSemaphores})

// checkSemaphores reports counters that let in as many as a limit says, until they count down again.
func checkSemaphores(r *check.Reporter) {
	done := map[*rediscmd.Command]bool{}
	for _, l := range r.Index.Semaphores {
		c := l.Acquire
		if done[c.Root()] || done[l.Release.Root()] {
			continue
		}
		done[c.Root()], done[l.Release.Root()] = true, true
		pos, end := r.Span(c)
		d := analysis.Diagnostic{
			Pos: pos, End: end,
			Related: []analysis.RelatedInformation{{Pos: l.Release.Pos(), Message: "the permit is given back here"}},
		}
		at := r.Place(l.Release.Pos(), c.Pos())
		harm := fmt.Sprintf("who dies before the %s at %s keeps the permit for ever", l.Release.Name, at)
		if e := expiry(r.Index, c); e != nil {
			harm = fmt.Sprintf("who dies before the %s at %s keeps the permit for as long as others come within the expiry, and "+
				"a count that expires under its holders goes below zero", l.Release.Name, at)
			d.Related = append(d.Related, analysis.RelatedInformation{Pos: e.Pos(), Message: "the expiry is set here"})
		}
		d.Message = fmt.Sprintf("%s is used as a semaphore: %s, and a second %s lets in one too many; keep a lease for each "+
			"holder, as permits=N does", c.What(), harm, l.Release.Name)
		r.ReportOnce(d)
	}
}

// expiry returns an EXPIRE of the counter anywhere in the package, nil if there is none.
func expiry(ix *index.Index, c *rediscmd.Command) *rediscmd.Command {
	for _, fn := range ix.Shipped {
		for _, e := range ix.Commands[fn] {
			if e.Op == ops.Expire && e.Call != c.Call && ix.Related(c, e) {
				return e
			}
		}
	}
	return nil
}
