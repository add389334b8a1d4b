package lockcheck

import (
	"fmt"
	"regexp"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll2008 = newCheck("LL2008", "renewal (EXPIRE) without comparing the owner", Warning, false, checkRenewals)

// checkRenewals reports commands that prolong a lock whoever holds it by then.
func checkRenewals(r *reporter) {
	for _, l := range r.index.renewals {
		r.reportRenewal(l.acquire.root(), l.release.root())
	}
}

// findRenewals finds the commands that prolong locks. A lock that nobody releases, because its holder prolongs it until
// it ends, as a leader does, is one as well, but its key must say so. The renewal stands for the release.
func (ix *lockSet) findRenewals() {
	var expires []*command
	for _, fn := range ix.funcs {
		for _, c := range ix.commands[fn] {
			if c.op == opExpire && c.key.known() && !c.judgedElsewhere() && !ix.inTest(c.pos()) {
				expires = append(expires, c)
			}
		}
	}
	done := map[*command]bool{}
	add := func(a *command, judged bool) {
		for _, e := range expires {
			if !done[e.root()] && ix.renews(a, e) {
				done[e.root()] = true
				ix.renewals = append(ix.renewals, &lock{acquire: a, release: e, judged: judged})
			}
		}
	}
	for _, l := range ix.locks {
		add(l.acquire, l.judged)
	}
	for _, fn := range ix.funcs {
		for _, a := range ix.commands[fn] {
			if a.op == opAcquire && a.key.known() && speaksOfLock(a.key) && !speaksOfOther(a.fn, a.key) && !ix.inTest(a.pos()) {
				add(a, false)
			}
		}
	}
	for e := range done {
		e.judged = true
	}
}

func (r *reporter) reportRenewal(a, e *command) {
	pos, end := r.span(e)
	r.report(analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("%s prolongs this lock without asking whose it is: if the %s at %s has expired meanwhile, it "+
			"prolongs the lock of the next holder, and the old one never learns that it has lost its own; compare the token "+
			"and prolong in one script",
			e.what(), a.name, r.place(a.pos(), e.pos())),
		Related: []analysis.RelatedInformation{{Pos: a.pos(), Message: "the lock is acquired here"}},
	})
}

// renewWord marks functions that prolong a lock by their name.
var renewWord = regexp.MustCompile(`(?i)renew|extend|refresh|keep_?alive|watch_?dog|prolong|heartbeat|touch`)

// renews reports whether an EXPIRE prolongs the lock that an acquire has taken, blindly. What follows the acquire in
// the same line of execution is its second step, not a renewal.
func (ix *lockSet) renews(a, e *command) bool {
	if a.call == e.call || ix.isSecondStep(e.root()) || ix.ownerCompared(e) != nil || insideWatch(e.call) ||
		ix.renewedWithCare(e) {
		return false
	}
	if e.fn == a.fn {
		return a.key.String() == e.key.String() && !a.noTTL() && comesAfter(a.call, e.call) && inBackground(a, e.call)
	}
	sameType := receiverName(a.fn) != "" && receiverName(a.fn) == receiverName(e.fn)
	if !renewWord.MatchString(e.fn.Name()) && !(sameType && speaksOfLock(a.key)) || !ix.expires(a) {
		return false
	}
	if handsOn(a, e.key) {
		return true
	}
	if a.key.shape() != e.key.shape() {
		return false
	}
	return sameType || a.key.distinctive() && speaksOfLock(a.key)
}

// isSecondStep reports whether an EXPIRE follows an acquire where it is issued, other than in the background.
func (ix *lockSet) isSecondStep(e *command) bool {
	for _, a := range ix.commands[e.fn] {
		if a.op == opAcquire && a.call != e.call && a.key.String() == e.key.String() && comesAfter(a.call, e.call) &&
			!inBackground(a, e.call) {
			return true
		}
	}
	return false
}

// renewedWithCare reports whether the package has a script that prolongs such a key only for its owner.
func (ix *lockSet) renewedWithCare(e *command) bool {
	for _, cmds := range ix.commands {
		for _, c := range cmds {
			if c.op == opCompareExpire && ix.related(e, c) {
				return true
			}
		}
	}
	return false
}

// inBackground reports whether a call runs beside the work under a lock: in a goroutine, or again and again.
func inBackground(a *command, call ssa.CallInstruction) bool {
	for at := ssa.Instruction(call); at != nil; at = userOf(at.Parent()) {
		if _, ok := at.(*ssa.Go); ok {
			return true
		}
		seen := map[*ssa.BasicBlock]bool{}
		for _, s := range at.Block().Succs {
			reach(s, a.call.Block(), seen)
		}
		if seen[at.Block()] {
			return true
		}
	}
	return false
}
