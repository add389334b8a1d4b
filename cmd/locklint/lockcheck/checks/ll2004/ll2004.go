// Package ll2004 is the check LL2004; see doc.md.
package ll2004

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/index"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/locks"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL2004.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Run: checkAtomicRelease})

// checkAtomicRelease reports releases that compare the owner in the program and delete with a command of its own.
func checkAtomicRelease(r *check.Reporter) {
	done := map[*rediscmd.Command]bool{}
	for _, l := range r.Index.Locks {
		del := l.Release
		if done[locks.Responsible(del)] || del.Op != ops.Delete || del.JudgedElsewhere() || r.Index.InTest(del.Pos()) {
			continue
		}
		for del.Origin != nil && r.Index.OwnerCompared(del.Origin) != nil {
			del = del.Origin // the helper that asks is to be mended, not its caller
		}
		read := r.Index.OwnerCompared(del)
		if read == nil {
			continue
		}
		why, bad := notAtomic(r.Index, read, del)
		if !bad || insideAnother(r, read, del) && takenInside(r, l.Acquire) {
			continue
		}
		done[locks.Responsible(del)] = true
		pos, end := r.Span(del)
		r.ReportOnce(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s comes after the %s at %s that compares the owner, and not in one step with it: if the "+
				"lock expires in between, this deletes the lock of the next holder; %s",
				del.What(), read.Name, r.Place(read.Pos(), del.Pos()), why),
			Related: []analysis.RelatedInformation{
				{Pos: read.Pos(), Message: "the owner is read here"},
				{Pos: l.Acquire.Pos(), Message: "the lock is acquired here"},
			},
		})
	}
}

// notAtomic reports whether a lock can change hands between the read and the delete. WATCH before the read and DEL
// between MULTI and EXEC is what keeps it from that.
func notAtomic(ix *index.Index, read, del *rediscmd.Command) (advice string, bad bool) {
	watched := rediscmd.InsideWatch(del.Call)
	for _, w := range ix.Commands[del.Fn] {
		if w.Op != ops.Watch {
			continue
		}
		watched = true
		if w.Key.String() == del.Key.String() && ssax.RunsBefore(read.Call, w.Call) {
			return "WATCH the key before reading it", true
		}
		if w.Key.Known() && w.Key.String() != del.Key.String() && watchedKeys(ix, del) == 0 {
			return "WATCH this key, not another one", true
		}
	}
	switch {
	case watched && del.Pipe == rediscmd.InMulti:
		return "", false
	case watched:
		return "WATCH protects only what runs between MULTI and EXEC", true
	case del.Pipe == rediscmd.InMulti:
		return "MULTI alone does not notice that the key has changed since: WATCH it before the read, or use one script", true
	}
	return "compare and delete in one script", true
}

// insideAnother reports whether two commands of a function run with another lock held, that of a library: where whoever takes
// the key has that one, too, nobody can take it in between.
func insideAnother(r *check.Reporter, first, last *rediscmd.Command) bool {
	for _, flow := range r.Index.Leases.Flows {
		if flow.Fn != last.Call.Parent() || first.Call.Parent() != flow.Fn || !ssax.RunsBefore(flow.Site.Call, first.Call) {
			continue
		}
		held := flow.Released
		for release, deferred := range flow.Releases {
			held = held && (deferred || !ssax.ComesAfter(release, last.Call))
		}
		if held {
			return true
		}
	}
	return false
}

// takenInside reports whether an acquire runs with another lock held, wherever its function is called.
func takenInside(r *check.Reporter, a *rediscmd.Command) bool {
	if insideAnother(r, a, a) {
		return true
	}
	calls := 0
	for _, cmds := range r.Index.Commands {
		for _, c := range cmds {
			if c.Origin != a || r.Index.InTest(c.Pos()) {
				continue
			}
			if calls++; !insideAnother(r, c, c) {
				return false
			}
		}
	}
	return calls > 0
}

// watchedKeys counts the WATCH commands for the key of a delete in its function.
func watchedKeys(ix *index.Index, del *rediscmd.Command) int {
	n := 0
	for _, w := range ix.Commands[del.Fn] {
		if w.Op == ops.Watch && w.Key.String() == del.Key.String() {
			n++
		}
	}
	return n
}
