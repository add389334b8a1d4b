package lockcheck

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll2002 = newCheck("LL2002", "DEL releases a lock the caller may no longer own", Error, false, checkReleases)

// checkReleases reports unconditional deletes of lock keys. It is silent where the code cares for ownership in any
// way: a GET of the key before the DEL (whether the two are atomic is another check's question), WATCH, or a script
// for the same lock elsewhere in the package, beside which a plain DEL is meant to be a forced release. It is silent,
// too, on a lock without expiry: that one is not lost to anybody before it is deleted.
func checkReleases(r *reporter) {
	done := map[*command]bool{}
	for _, l := range r.index.locks {
		del := l.release
		if done[del] || l.judged || del.op != opDelete || r.index.inTest(del.pos()) {
			continue
		}
		if r.index.minds(del) {
			continue
		}
		unheld := l.acquire.fn == del.fn && whenHeld(l.acquire, del.call) == eitherWay
		if !unheld && !r.index.expires(l.acquire) {
			continue
		}
		done[del] = true
		if unheld {
			r.reportUnheld(l)
			continue
		}
		pos, end := r.span(del)
		r.report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s releases this lock without asking whose it is: if the %s at %s has expired meanwhile, "+
				"it deletes the lock of the next holder; compare the token and delete in one script",
				del.what(), l.acquire.name, r.place(l.acquire.pos(), del.pos())),
			Related: []analysis.RelatedInformation{{Pos: l.acquire.pos(), Message: "the lock is acquired here"}},
		})
	}
}

// reportUnheld reports a release that does not depend on the acquire: it deletes the lock of whoever has got it.
func (r *reporter) reportUnheld(l *lock) {
	pos, end := r.span(l.release)
	r.report(analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("%s also runs when %s (%s) has not got the lock: then it deletes the lock of somebody else; "+
			"release only what was acquired, and compare the token and delete in one script",
			l.release.what(), l.acquire.what(), r.place(l.acquire.pos(), l.release.pos())),
		Related: []analysis.RelatedInformation{{Pos: l.acquire.pos(), Message: "the lock is acquired here"}},
	})
}

// expires reports whether an acquire's key can expire under its holder: it has a time to live, or gets one with
// EXPIRE.
func (ix *lockSet) expires(a *command) bool {
	return !a.noTTL() || len(ix.expiriesOf(a)) > 0
}

// expiriesOf are the EXPIRE commands that follow an acquire on the same key.
func (ix *lockSet) expiriesOf(a *command) []*command {
	var list []*command
	for _, c := range ix.commands[a.fn] {
		if c.op != opExpire || c.key.String() != a.key.String() {
			continue
		}
		together := c.call == a.call && a.pipe != direct && c.pipe == a.pipe // as DoMulti of rueidis sends them
		if together || c.call != a.call && comesAfter(a.call, c.call) {
			list = append(list, c)
		}
	}
	return list
}

// minds reports whether the code around a DEL cares who owns the key.
func (ix *index) minds(del *command) bool {
	for _, c := range ix.commands[del.fn] {
		if c.op == opRead && c.key.String() == del.key.String() && comesAfter(c.call, del.call) && !asksIfPresent(c) {
			return true
		}
	}
	for _, cmds := range ix.commands {
		for _, c := range cmds {
			switch {
			case c.op == opCompareDel && ix.related(del, c) && !ix.endAnother(del, c):
				return true
			case c.root() == del.root() && c != del && ix.ownerCompared(c) != nil:
				return true // a helper that is called after the comparison
			}
		}
	}
	return insideWatch(del.call)
}

// endAnother reports whether two releases of such a key belong to acquires of their own, so that the care which one of
// them takes says nothing of the other.
func (ix *index) endAnother(x, y *command) bool {
	ofX, ofY := ix.ownAcquires(x), ix.ownAcquires(y)
	for a := range ofX {
		if ofY[a] {
			return false
		}
	}
	return len(ofX) > 0 && len(ofY) > 0
}

// ownAcquires are the acquires that a release certainly belongs to: those of its own function, and of those that its
// function belongs to.
func (ix *index) ownAcquires(release *command) map[*command]bool {
	own := map[*command]bool{}
	for _, l := range ix.locks {
		a := l.acquire
		if l.release.call == release.call && (a.fn == release.fn || belongs(a.fn, release.fn)) {
			own[a.root()] = true
		}
	}
	return own
}

// insideWatch reports whether a call stands in a function literal that is handed to Watch.
func insideWatch(call ssa.CallInstruction) bool {
	for fn := call.Parent(); fn.Parent() != nil; fn = fn.Parent() {
		if passedTo(fn) == "Watch" {
			return true
		}
	}
	return false
}

// asksIfPresent reports whether nothing but the error of a GET is looked at: that says whether there is an owner, not
// who it is.
func asksIfPresent(read *command) bool {
	call, ok := read.call.(*ssa.Call)
	return ok && read.via == "" && attentionToBoolCmd(call) == onlyError
}
