package lockcheck

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
)

var ll2005 = newCheck("LL2005",
	"SETNX then EXPIRE: a crash between them leaves the lock for ever", Error, true, checkTwoSteps)

// checkTwoSteps reports locks that get their expiry in a second command, once for each acquire, where the two steps
// are closest to the client.
func checkTwoSteps(r *reporter) {
	done := map[*command]bool{}
	for _, l := range r.index.locks {
		a := l.acquire
		if done[a.root()] || !a.noTTL() || r.index.inTest(a.pos()) {
			continue
		}
		expiries := r.index.expiriesOf(a)
		if len(expiries) == 0 {
			continue
		}
		done[a.root()] = true
		e := expiries[0]
		pos, end := r.span(a)
		d := analysis.Diagnostic{
			Pos: pos, End: end,
			Message: twoStepMessage(a, e, r.place(e.pos(), a.pos())),
			Related: []analysis.RelatedInformation{{Pos: e.pos(), Message: "the expiry is set only here"}},
		}
		if fix := r.mergeExpiry(a, e); fix != nil {
			d.SuggestedFixes = []analysis.SuggestedFix{*fix}
		}
		r.report(d)
	}
}

func twoStepMessage(a, e *command, where string) string {
	instead := "set the key and its expiry in one command: SET key token NX PX ttl"
	switch {
	case a.pipe == inMulti && e.pipe == inMulti:
		return fmt.Sprintf("%s and %s (%s) arrive together in MULTI, but %s also runs when %s fails: every loser prolongs "+
			"the holder's lock; %s",
			a.what(), e.what(), where, e.name, a.name, instead)
	case a.pipe == pipelined && e.pipe == pipelined:
		return fmt.Sprintf("%s and %s (%s) in a pipeline are two commands: a connection that breaks between them leaves "+
			"the lock for ever, and %s also runs when %s fails; %s",
			a.what(), e.what(), where, e.name, a.name, instead)
	}
	return fmt.Sprintf("%s takes the lock without an expiry and %s adds it later (%s): a crash between them leaves the "+
		"lock for ever; %s",
		a.what(), e.what(), where, instead)
}
