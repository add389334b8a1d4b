// Package ll2005 is the check LL2005; see doc.md.
package ll2005

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
)

//go:embed doc.md
var page string

// Check is LL2005.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Fixable: true, Run: checkTwoSteps})

// checkTwoSteps reports locks that get their expiry in a second command, once for each acquire, where the two steps
// are closest to the client.
func checkTwoSteps(r *check.Reporter) {
	done := map[*rediscmd.Command]bool{}
	for _, l := range r.Index.Locks {
		a := l.Acquire
		if done[a.Root()] || !a.NoTTL() || r.Index.InTest(a.Pos()) {
			continue
		}
		expiries := r.Index.ExpiriesOf(a)
		if len(expiries) == 0 {
			continue
		}
		done[a.Root()] = true
		for a.Origin != nil && len(r.Index.ExpiriesOf(a.Origin)) > 0 {
			a, expiries = a.Origin, r.Index.ExpiriesOf(a.Origin)
		}
		e := expiries[0]
		pos, end := r.Span(a)
		d := analysis.Diagnostic{
			Pos: pos, End: end,
			Message: twoStepMessage(a, e, r.Place(e.Pos(), a.Pos())),
			Related: []analysis.RelatedInformation{{Pos: e.Pos(), Message: "the expiry is set only here"}},
		}
		if fix := mergeExpiry(r, a, e); fix != nil {
			d.SuggestedFixes = []analysis.SuggestedFix{*fix}
		}
		r.ReportOnce(d)
	}
}

func twoStepMessage(a, e *rediscmd.Command, where string) string {
	instead := "set the key and its expiry in one command: SET key token NX PX ttl"
	switch {
	case a.Pipe == rediscmd.InMulti && e.Pipe == rediscmd.InMulti:
		return fmt.Sprintf("%s and %s (%s) arrive together in MULTI, but %s also runs when %s fails: every loser prolongs "+
			"the holder's lock; %s",
			a.What(), e.What(), where, e.Name, a.Name, instead)
	case a.Pipe == rediscmd.Pipelined && e.Pipe == rediscmd.Pipelined:
		return fmt.Sprintf("%s and %s (%s) in a pipeline are two commands: a connection that breaks between them leaves "+
			"the lock for ever, and %s also runs when %s fails; %s",
			a.What(), e.What(), where, e.Name, a.Name, instead)
	}
	return fmt.Sprintf("%s takes the lock without an expiry and %s adds it later (%s): a crash between them leaves the "+
		"lock for ever; %s",
		a.What(), e.What(), where, instead)
}
