package ll2002

import (
	"fmt"
	"regexp"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// reportBefore reports a DEL that a function always runs before it acquires the same lock, which it has not held until
// then: whoever has it loses it.
func reportBefore(r *check.Reporter) {
	for _, l := range r.Index.Locks {
		a := l.Acquire
		if l.Judged || r.Index.InTest(a.Pos()) || clearsOnPurpose.MatchString(a.Fn.Name()) {
			continue
		}
		for _, del := range r.Index.Commands[a.Fn] {
			if !clearsBefore(del, a) || heldBefore(r, del) || isAsked(del) {
				continue
			}
			pos, end := r.Span(del)
			r.ReportOnce(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("%s runs before %s (%s) has got the lock: it deletes the lock of whoever has it; "+
					"leave a lock that nobody releases to its expiry", del.What(), a.What(), r.Place(a.Pos(), del.Pos())),
				Related: []analysis.RelatedInformation{{Pos: a.Pos(), Message: "the lock is acquired here"}},
			})
		}
	}
}

// clearsBefore reports whether a DEL always runs before an acquire of the same key.
func clearsBefore(del, a *rediscmd.Command) bool {
	return del.Op == ops.Delete && del.Call != a.Call && del.Call.Parent() == a.Call.Parent() && !del.Forced && !del.Guarded &&
		!ssax.IsDeferred(del.Call) && del.Key.String() == a.Key.String() && ssax.RunsBefore(del.Call, a.Call)
}

// heldBefore reports whether a function may know the key before a DEL: it has acquired or read it, or is asked for it by
// way of a flag.
func heldBefore(r *check.Reporter, del *rediscmd.Command) bool {
	return slices.ContainsFunc(r.Index.Commands[del.Fn], func(c *rediscmd.Command) bool {
		return c.Call != del.Call && c.Op != ops.Delete && c.Key.String() == del.Key.String() &&
			(c.Call.Parent() != del.Call.Parent() || ssax.ComesAfter(c.Call, del.Call))
	})
}

// clearsOnPurpose marks functions that are there to take a lock from others.
var clearsOnPurpose = regexp.MustCompile(`(?i)force|admin|reset|steal|take_?over|break|recover|extend|renew|refresh`)
