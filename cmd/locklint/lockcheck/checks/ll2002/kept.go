package ll2002

import (
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
)

// reportReplaced reports releases of locks that an object keeps in a map under their keys: whose they are by then, nobody
// asks.
func reportReplaced(r *check.Reporter) {
	if r.Index.Leases == nil {
		return
	}
	for _, kept := range r.Index.Leases.FindReplaced() {
		if r.Index.InTest(kept.Release.Pos()) || forceWord.MatchString(kept.Release.Parent().Name()) {
			continue
		}
		pos, end := r.CallSpan(kept.Release)
		r.ReportOnce(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s releases the lock that is kept under this key, whose ever it is: if that from %s at %s has "+
				"expired meanwhile, and somebody else in this process has locked the key, it releases the lock of the next "+
				"holder; hand each lock to the one who acquires it",
				r.CallText(kept.Release), r.CallText(kept.Acquire), r.Place(kept.Acquire.Pos(), kept.Release.Pos())),
			Related: []analysis.RelatedInformation{{Pos: kept.Acquire.Pos(), Message: "the lock is acquired here"}},
		})
	}
}
