package lockcheck

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll2002 = newCheck("LL2002", "DEL releases a lock the caller may no longer own", Error, false, checkReleases)

// checkReleases reports unconditional deletes of lock keys. It is silent where the code cares for ownership in any
// way: a GET of the key before the DEL (whether the two are atomic is another check's question), WATCH, or a script
// for the same key elsewhere in the package, beside which a plain DEL is meant to be a forced release. It is silent,
// too, on a lock without expiry: that one is not lost to anybody before it is deleted.
func checkReleases(r *reporter) {
	done := map[*command]bool{}
	for _, l := range r.index.locks {
		del := l.release
		if done[del] || l.judged || del.op != opDelete || r.index.inTest(del.pos()) {
			continue
		}
		if !r.index.expires(l.acquire) || r.index.minds(del) {
			continue
		}
		done[del] = true
		pos, end := r.span(del)
		r.report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s releases this lock without asking whose it is: if the %s at %s has expired meanwhile, it deletes the lock of the next holder; compare the token and delete in one script",
				del.what(), l.acquire.name, r.place(l.acquire.pos(), del.pos())),
			Related: []analysis.RelatedInformation{{Pos: l.acquire.pos(), Message: "the lock is acquired here"}},
		})
	}
}

// expires reports whether an acquire's key can expire under its holder: it has a time to live, or gets one with
// EXPIRE.
func (ix *index) expires(a *command) bool {
	return !a.noTTL() || len(ix.expiriesOf(a)) > 0
}

// expiriesOf are the EXPIRE commands that follow an acquire on the same key.
func (ix *index) expiriesOf(a *command) []*command {
	var list []*command
	for _, c := range ix.commands[a.fn] {
		if c.op == opExpire && c.call != a.call && c.key.String() == a.key.String() && comesAfter(a.call, c.call) {
			list = append(list, c)
		}
	}
	return list
}

// minds reports whether the code around a DEL cares who owns the key.
func (ix *index) minds(del *command) bool {
	for _, c := range ix.commands[del.fn] {
		if c.op == opRead && c.key.String() == del.key.String() && comesAfter(c.call, del.call) {
			return true
		}
	}
	for _, cmds := range ix.commands {
		for _, c := range cmds {
			if c.op == opCompareDel && c.key.shape() == del.key.shape() {
				return true
			}
		}
	}
	return insideWatch(del.call)
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
