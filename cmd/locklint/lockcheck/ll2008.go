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
	done := map[*command]bool{}
	for _, l := range r.index.locks {
		r.index.eachExpire(func(e *command) {
			if !done[e.root()] && !e.judgedElsewhere() && r.index.renews(l.acquire, e) {
				done[e.root()] = true
				r.reportRenewal(l.acquire, e.root())
			}
		})
	}
	for _, l := range r.index.renewed {
		if e := l.release.root(); !done[e] {
			done[e] = true
			r.reportRenewal(l.acquire.root(), e)
		}
	}
}

// eachExpire visits the EXPIRE commands of the package, those of its tests apart.
func (ix *index) eachExpire(visit func(*command)) {
	for _, fn := range ix.funcs {
		for _, c := range ix.commands[fn] {
			if c.op == opExpire && !ix.inTest(c.pos()) {
				visit(c)
			}
		}
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
func (ix *index) renews(a, e *command) bool {
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

// findRenewed finds the locks that nobody releases, because their holder prolongs them until it ends, as leaders do.
// The renewal takes the place of the release. What says so little of its role must say in its key that it is a lock.
func (ix *index) findRenewed() {
	released := map[*command]bool{}
	for _, l := range ix.locks {
		released[l.acquire] = true
	}
	for _, fn := range ix.funcs {
		for _, a := range ix.commands[fn] {
			if a.op != opAcquire || released[a] || !a.key.known() || a.noTTL() || !speaksOfLock(a.key) ||
				speaksOfOther(a.fn, a.key) || ix.inTest(a.pos()) {
				continue
			}
			ix.eachExpire(func(e *command) {
				if e.key.known() && !e.judgedElsewhere() && !speaksOfOther(e.fn, e.key) && ix.renews(a, e) {
					ix.renewed = append(ix.renewed, &lock{acquire: a, release: e})
				}
			})
		}
	}
}

// isSecondStep reports whether an EXPIRE follows an acquire where it is issued, other than in the background.
func (ix *index) isSecondStep(e *command) bool {
	for _, a := range ix.commands[e.fn] {
		if a.op == opAcquire && a.call != e.call && a.key.String() == e.key.String() && comesAfter(a.call, e.call) &&
			!inBackground(a, e.call) {
			return true
		}
	}
	return false
}

// renewedWithCare reports whether the package has a script that prolongs such a key only for its owner.
func (ix *index) renewedWithCare(e *command) bool {
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
