// Package ll2001 is the check LL2001; see doc.md.
package ll2001

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/locks"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL2001.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Run: checkOutcomes})

// checkOutcomes reports acquires of locks whose outcome nobody looks at.
func checkOutcomes(r *check.Reporter) {
	done, told := map[*rediscmd.Command]bool{}, map[*rediscmd.Command]bool{}
	for _, l := range r.Index.Locks {
		checkOutcome(r, l.Acquire, l.Release, done)
	}
	for _, l := range r.Index.Locks {
		checkRefused(r, l, told)
	}
	for _, fn := range r.Index.Funcs {
		for _, c := range r.Index.Commands[fn] {
			if c.Op == ops.Acquire && c.Key.Known() && !c.NoTTL() && locks.TakesLock(c) && answers.AttentionTo(c) == answers.OnlyError {
				checkOutcome(r, c, nil, done)
			}
		}
	}
}

// checkOutcome reports an acquire whose outcome nobody looks at; release is nil if nothing in sight ends the lock.
func checkOutcome(r *check.Reporter, c, release *rediscmd.Command, done map[*rediscmd.Command]bool) {
	if done[c] || r.Index.InTest(c.Pos()) {
		return
	}
	done[c] = true
	how := answers.AttentionTo(c)
	if how == answers.Attentive && !ignoredInPipe(r, c, release) || r.Index.LooksAgain(c) && !r.Index.AlwaysSame(c.Value, c.Fn) {
		return
	}
	why := "is ignored"
	if how == answers.OnlyError {
		why = "is ignored, only the error is looked at, and that is nil when somebody else holds the lock"
	}
	pos, end := r.Span(c)
	d := analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("the outcome of %s %s: everybody gets this lock; go on only if the key was set",
			c.What(), why),
	}
	if release != nil {
		d.Related = []analysis.RelatedInformation{{Pos: release.Pos(), Message: "it is a lock because it is released here"}}
	}
	r.ReportOnce(d)
}

// checkRefused reports an acquire whose outcome is looked at, and then the same is done either way: it is logged that
// somebody else holds the lock.
func checkRefused(r *check.Reporter, l *locks.Lock, done map[*rediscmd.Command]bool) {
	c := l.Acquire
	if l.Release.Fn != c.Fn || done[c] || r.Index.InTest(c.Pos()) || r.Index.LooksAgain(c) {
		return
	}
	done[c] = true
	join := answers.GoesOn(c, sections.IsWork)
	if join == nil {
		return
	}
	both, joined := map[ssa.Instruction]bool{}, map[*ssa.BasicBlock]bool{}
	ssax.Reach(join, nil, joined)
	for b := range joined {
		for _, instr := range b.Instrs {
			call, ok := instr.(*ssa.Call)
			over := !ssax.IsDeferred(l.Release.Call) && ok && ssax.RunsBefore(l.Release.Call, call)
			if ok && !over && !isCommand(r, call) {
				both[call] = true
			}
		}
	}
	work := sections.WorkIn(both)
	if len(work) == 0 {
		return
	}
	pos, end := r.Span(c)
	r.ReportOnce(analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("when %s has not got the lock, the code goes on without it: %s at %s runs either way; return, "+
			"or wait for the lock", c.What(), r.CallText(work[0]), r.Place(work[0].Pos(), c.Pos())),
		Related: []analysis.RelatedInformation{{Pos: work[0].Pos(), Message: "runs with and without the lock"}},
	})
}

// isCommand reports whether a call works on a key that a lock may have: it is no work under the lock.
func isCommand(r *check.Reporter, call *ssa.Call) bool {
	for _, c := range r.Index.Commands[ssax.Outermost(call.Parent())] {
		if c.Call == ssa.CallInstruction(call) && (c.Op == ops.Acquire || c.Op.Releases() || c.Op == ops.Expire) {
			return true
		}
	}
	return false
}
