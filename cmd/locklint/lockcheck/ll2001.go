package lockcheck

import (
	"fmt"
	"slices"

	"golang.org/x/tools/go/analysis"
)

var ll2001 = newCheck("LL2001", "SETNX outcome ignored: the lock always succeeds", Error, false, checkOutcomes)

// checkOutcomes reports acquires of locks whose outcome nobody looks at.
func checkOutcomes(r *reporter) {
	done := map[*command]bool{}
	for _, l := range r.index.locks {
		c := l.acquire
		if done[c] || r.index.inTest(c.pos()) {
			continue
		}
		done[c] = true
		how := attentionTo(c)
		if how == attentive || r.index.looksAgain(c) {
			continue
		}
		why := "is ignored"
		if how == onlyError {
			why = "is ignored, only the error is looked at, and that is nil when somebody else holds the lock"
		}
		pos, end := r.span(c)
		r.report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("the outcome of %s %s: everybody gets this lock; go on only if the key was set",
				c.what(), why),
			Related: []analysis.RelatedInformation{{
				Pos:     l.release.pos(),
				Message: "it is a lock because it is released here",
			}},
		})
	}
}

// looksAgain reports whether a function reads the key after it has tried to set it: who compares knows whose it is.
func (ix *index) looksAgain(c *command) bool {
	return slices.ContainsFunc(ix.commands[c.fn], func(read *command) bool {
		return read.op == opRead && read.key.String() == c.key.String() && read.call != c.call &&
			comesAfter(c.call, read.call) && !asksIfPresent(read)
	})
}
