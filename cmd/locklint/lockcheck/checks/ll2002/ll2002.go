// Package ll2002 is the check LL2002; see doc.md.
package ll2002

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/index"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/locks"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL2002.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Run: checkReleases})

// checkReleases reports unconditional deletes of lock keys. It is silent where the code cares for ownership in any
// way: a GET of the key before the DEL (whether the two are atomic is another check's question), WATCH, or a script
// for the same lock elsewhere in the package, beside which a plain DEL is meant to be a forced release. It is silent,
// too, on a lock without expiry: that one is not lost to anybody before it is deleted.
func checkReleases(r *check.Reporter) {
	reportLibrary(r)
	reportReplaced(r)
	reportBefore(r)
	done := map[*rediscmd.Command]bool{}
	for _, l := range r.Index.Locks {
		del := l.Release
		way := answers.WhenHeld(l.Acquire, del.Call)
		unheld := l.Acquire.Fn == del.Fn && !del.Guarded && (way == answers.EitherWay || way == answers.OnlyLost ||
			answers.RunsOnError(l.Acquire, del.Call))
		if done[del] || l.Judged && !unheld || del.Op != ops.Delete || r.Index.InTest(del.Pos()) {
			continue
		}
		// A token that is always the same, or that nobody has, says nothing of the owner, whoever compares it.
		same := l.Acquire.Fixed || r.Index.AlwaysSame(l.Acquire.Value, l.Acquire.Fn)
		if !(unheld && same) && !tokenIsLost(r.Index, l) && minds(r.Index, del) {
			continue
		}
		if !unheld && !r.Index.Expires(l.Acquire) {
			continue
		}
		done[del] = true
		if unheld {
			reportUnheld(r, l, way == answers.OnlyLost)
			continue
		}
		del = r.Index.Blamed(del)
		pos, end := r.Span(del)
		r.ReportOnce(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s releases this lock without asking whose it is: if the %s at %s has expired meanwhile, "+
				"it deletes the lock of the next holder; compare the token and delete in one script",
				del.What(), l.Acquire.Name, r.Place(l.Acquire.Pos(), del.Pos())),
			Related: []analysis.RelatedInformation{{Pos: l.Acquire.Pos(), Message: "the lock is acquired here"}},
		})
	}
}

// reportUnheld reports a release that does not depend on the acquire: it deletes the lock of whoever has got it.
func reportUnheld(r *check.Reporter, l *locks.Lock, only bool) {
	when := "also runs when"
	if only {
		when = "runs only when"
	}
	pos, end := r.Span(l.Release)
	r.ReportOnce(analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("%s %s %s (%s) has not got the lock: then it deletes the lock of somebody else; "+
			"release only what was acquired, and compare the token and delete in one script",
			l.Release.What(), when, l.Acquire.What(), r.Place(l.Acquire.Pos(), l.Release.Pos())),
		Related: []analysis.RelatedInformation{{Pos: l.Acquire.Pos(), Message: "the lock is acquired here"}},
	})
}

// minds reports whether the code around a DEL cares who owns the key.
func minds(ix *index.Index, del *rediscmd.Command) bool {
	if standsIn(ix, del) {
		return false
	}
	for _, c := range ix.Commands[del.Fn] {
		if c.Op == ops.Read && c.Key.String() == del.Key.String() && ssax.ComesAfter(c.Call, del.Call) &&
			!answers.AsksIfPresent(c) {
			return true
		}
	}
	for _, cmds := range ix.Commands {
		for _, c := range cmds {
			switch {
			case c.Op == ops.CompareDel && ix.Related(del, c) && !endAnother(ix, del, c):
				return true
			case c.Op == ops.CompareDel && c.Compares && besides(del, c):
				return true
			case c.Root() == del.Root() && c != del && ix.OwnerCompared(c) != nil:
				return true // a helper that is called after the comparison
			}
		}
	}
	return rediscmd.InsideWatch(del.Call)
}

// standsIn reports whether some function runs a DEL where it does not compare, and a release that compares on another
// way: a holder that has no token, or a server without scripts, does not make the lock anybody's.
func standsIn(ix *index.Index, del *rediscmd.Command) bool {
	for _, cmds := range ix.Commands {
		for _, plain := range cmds {
			if plain.Root() != del.Root() {
				continue
			}
			for _, careful := range cmds {
				if careful.Op == ops.CompareDel && careful.Compares && careful.Key.String() == plain.Key.String() &&
					ssax.ChosenBetween(plain.Call, careful.Call) && !isAsked(plain) {
					return true
				}
			}
		}
	}
	return false
}

// isAsked reports whether a caller says by a flag that a DEL is to run.
func isAsked(del *rediscmd.Command) bool {
	for b := del.Call.Block(); b.Idom() != nil; b = b.Idom() {
		cond, ok := b.Idom().Instrs[len(b.Idom().Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		k := keyexpr.Of(cond.Cond)
		if k.Op == keyexpr.Param && ssax.IsBool(cond.Cond.Type()) || forceWord.MatchString(k.Text) {
			return true
		}
	}
	return false
}

var forceWord = regexp.MustCompile(`(?i)force|admin`)

// tokenIsLost reports whether those who acquire what a DEL releases make a token that they forget, so that a release that
// compares it cannot be theirs.
func tokenIsLost(ix *index.Index, l *locks.Lock) bool {
	for _, other := range ix.Locks {
		if other.Release == l.Release && !other.Acquire.ForgetsToken() {
			return false
		}
	}
	return true
}

// besides reports whether a release is the plain one of two functions, as Unlock is beside UnlockSafe.
func besides(del, other *rediscmd.Command) bool {
	plain, careful := del.Fn.Name(), other.Fn.Name()
	return ssax.ReceiverName(del.Fn) == ssax.ReceiverName(other.Fn) && plain != careful &&
		strings.HasPrefix(careful, plain) && releaseName.MatchString(plain) && del.Key.Shape() == other.Key.Shape()
}

var releaseName = regexp.MustCompile(`(?i)^(?:un_?lock|release|free)`)

// endAnother reports whether two releases of such a key belong to acquires of their own, so that the care which one of
// them takes says nothing of the other.
func endAnother(ix *index.Index, x, y *rediscmd.Command) bool {
	ofX, ofY := ownAcquires(ix, x), ownAcquires(ix, y)
	for a := range ofX {
		if ofY[a] {
			return false
		}
	}
	return len(ofX) > 0 && len(ofY) > 0
}

// ownAcquires are the acquires that a release certainly belongs to: those of its own function, and of those that its
// function belongs to.
func ownAcquires(ix *index.Index, release *rediscmd.Command) map[*rediscmd.Command]bool {
	own := map[*rediscmd.Command]bool{}
	for _, l := range ix.Locks {
		a := l.Acquire
		if l.Release.Call == release.Call && (a.Fn == release.Fn || locks.Belongs(a.Fn, release.Fn)) {
			own[a.Root()] = true
		}
	}
	return own
}
