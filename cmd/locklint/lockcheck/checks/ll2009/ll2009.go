// Package ll2009 is the check LL2009; see doc.md.
package ll2009

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/locks"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
)

//go:embed doc.md
var page string

// Check is LL2009.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Run: checkTimeLocks})

// checkTimeLocks reports locks that keep their expiry in the value and take over an expired one with GETSET.
func checkTimeLocks(r *check.Reporter) {
	done := map[*rediscmd.Command]bool{}
	for _, fn := range r.Index.Funcs {
		for _, a := range r.Index.Commands[fn] {
			if r.Index.TakesOverAlone(a) && !hasAcquire(r, a) && !done[a] {
				done[a] = true
				reportAlone(r, a)
			}
			if a.Op != ops.Acquire || !a.Key.Known() || r.Index.InTest(a.Pos()) {
				continue
			}
			s := r.Index.Takeover(a)
			if s == nil || done[s.Root()] || s.Via != "" && s.Judged {
				continue
			}
			done[s.Root()] = true
			s, a := locks.Responsible(s), locks.Responsible(a) // not those that use the lock
			pos, end := r.Span(s)
			r.ReportOnce(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("%s takes over the lock of the %s at %s by the time in its value: that needs clocks that "+
					"agree on all machines, and whoever loses the race has already overwritten the winner's time; let the server "+
					"end the lock: SET key token NX PX ttl",
					s.What(), a.Name, r.Place(a.Pos(), s.Pos())),
				Related: []analysis.RelatedInformation{{Pos: a.Pos(), Message: "the lock is acquired here"}},
			})
		}
	}
}

// hasAcquire reports whether a SETNX belongs to a GETSET, so that the two are reported together.
func hasAcquire(r *check.Reporter, s *rediscmd.Command) bool {
	for _, cmds := range r.Index.Commands {
		for _, a := range cmds {
			if a.Op == ops.Acquire && r.Index.Related(a, s) {
				return true
			}
		}
	}
	return false
}

// reportAlone reports a GETSET that takes a lock without a SETNX before it.
func reportAlone(r *check.Reporter, s *rediscmd.Command) {
	pos, end := r.Span(s)
	r.ReportOnce(analysis.Diagnostic{
		Pos: pos, End: end,
		Message: s.What() + " takes the lock by the time in its value: that needs clocks that agree on all machines, and whoever " +
			"loses the race has already overwritten the winner's time; let the server end the lock: SET key token NX PX ttl",
	})
}
