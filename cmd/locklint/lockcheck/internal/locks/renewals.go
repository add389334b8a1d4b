package locks

import (
	"regexp"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// FindRenewals finds the commands that prolong locks. A lock that nobody releases, because its holder prolongs it until
// it ends, as a leader does, is one as well, but its key must say so. The renewal stands for the release.
func (ix *Set) FindRenewals() {
	var expires []*rediscmd.Command
	for _, fn := range ix.Funcs {
		for _, c := range ix.Commands[fn] {
			if c.Op == ops.Expire && c.Key.Known() && !c.JudgedElsewhere() && !ix.InTest(c.Pos()) {
				expires = append(expires, c)
			}
		}
	}
	done := map[*rediscmd.Command]bool{}
	for _, within := range []bool{true, false} { // the lock of its own function, before that of another with the same key
		add := func(a *rediscmd.Command, judged bool) {
			for _, e := range expires {
				if !done[e.Root()] && (!within || a.Fn == e.Fn) && ix.renews(a, e) {
					done[e.Root()] = true
					ix.Renewals = append(ix.Renewals, &Lock{Acquire: a, Release: e, Judged: judged})
				}
			}
		}
		ix.eachRenewable(add)
	}
	for e := range done {
		e.Judged = true
	}
}

// eachRenewable visits the acquires whose locks may be prolonged: those of locks that are released, then those whose key
// says that they are locks.
func (ix *Set) eachRenewable(visit func(a *rediscmd.Command, judged bool)) {
	for _, l := range ix.Locks {
		visit(l.Acquire, l.Judged)
	}
	for _, fn := range ix.Funcs {
		for _, a := range ix.Commands[fn] {
			if a.Op == ops.Acquire && a.Key.Known() && speaksOfLock(a.Key) && !speaksOfOther(a.Fn, a.Key) &&
				!a.Key.Fresh() && !ix.InTest(a.Pos()) {
				visit(a, false)
			}
		}
	}
}

// renewWord marks functions that prolong a lock by their name.
var renewWord = regexp.MustCompile(`(?i)renew|extend|refresh|keep_?alive|watch_?dog|prolong|heartbeat|touch`)

// renews reports whether an EXPIRE prolongs the lock that an acquire has taken, blindly. What follows the acquire in
// the same line of execution is its second step, not a renewal.
func (ix *Set) renews(a, e *rediscmd.Command) bool {
	if a.Call == e.Call || ix.isSecondStep(e.Root()) || ix.OwnerCompared(e) != nil || rediscmd.InsideWatch(e.Call) ||
		ix.renewedWithCare(e) {
		return false
	}
	if e.Fn == a.Fn {
		return a.Key.String() == e.Key.String() && !a.NoTTL() && ssax.ComesAfter(a.Call, e.Call) && inBackground(a, e.Call)
	}
	sameType := ssax.ReceiverName(a.Fn) != "" && ssax.ReceiverName(a.Fn) == ssax.ReceiverName(e.Fn)
	if !renewWord.MatchString(e.Fn.Name()) && !(sameType && speaksOfLock(a.Key)) || !ix.Expires(a) {
		return false
	}
	if handsOn(a, e.Key) {
		return true
	}
	if a.Key.Shape() != e.Key.Shape() {
		return false
	}
	return sameType || a.Key.Distinctive() && speaksOfLock(a.Key)
}

// isSecondStep reports whether an EXPIRE follows an acquire where it is issued, other than in the background.
func (ix *Set) isSecondStep(e *rediscmd.Command) bool {
	for _, a := range ix.Commands[e.Fn] {
		if a.Op == ops.Acquire && a.Call != e.Call && a.Key.String() == e.Key.String() && ssax.ComesAfter(a.Call, e.Call) &&
			!inBackground(a, e.Call) {
			return true
		}
	}
	return false
}

// renewedWithCare reports whether the package has a script that prolongs such a key only for its owner.
func (ix *Set) renewedWithCare(e *rediscmd.Command) bool {
	for _, cmds := range ix.Commands {
		for _, c := range cmds {
			if c.Op == ops.CompareExpire && ix.Related(e, c) {
				return true
			}
		}
	}
	return false
}

// inBackground reports whether a call runs beside the work under a lock: in a goroutine, or again and again.
func inBackground(a *rediscmd.Command, call ssa.CallInstruction) bool {
	for at := ssa.Instruction(call); at != nil; at = ssax.UserOf(at.Parent()) {
		if _, ok := at.(*ssa.Go); ok {
			return true
		}
		seen := map[*ssa.BasicBlock]bool{}
		for _, s := range at.Block().Succs {
			ssax.Reach(s, a.Call.Block(), seen)
		}
		if seen[at.Block()] {
			return true
		}
	}
	return false
}
