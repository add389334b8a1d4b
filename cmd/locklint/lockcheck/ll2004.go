package lockcheck

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
)

var ll2004 = newCheck("LL2004", "GET == token, then DEL: not atomic", Error, false, checkAtomicRelease)

// checkAtomicRelease reports releases that compare the owner in the program and delete with a command of its own.
func checkAtomicRelease(r *reporter) {
	done := map[*command]bool{}
	for _, l := range r.index.locks {
		del := l.release
		if done[del.root()] || del.op != opDelete || del.judgedElsewhere() || r.index.inTest(del.pos()) {
			continue
		}
		read := r.index.ownerCompared(del)
		if read == nil {
			continue
		}
		why, bad := r.index.notAtomic(read, del)
		if !bad {
			continue
		}
		done[del.root()] = true
		pos, end := r.span(del)
		r.report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s comes after the %s at %s that compares the owner, and not in one step with it: if the "+
				"lock expires in between, this deletes the lock of the next holder; %s",
				del.what(), read.name, r.place(read.pos(), del.pos()), why),
			Related: []analysis.RelatedInformation{
				{Pos: read.pos(), Message: "the owner is read here"},
				{Pos: l.acquire.pos(), Message: "the lock is acquired here"},
			},
		})
	}
}

// notAtomic reports whether a lock can change hands between the read and the delete. WATCH before the read and DEL
// between MULTI and EXEC is what keeps it from that.
func (ix *index) notAtomic(read, del *command) (advice string, bad bool) {
	watched := insideWatch(del.call)
	for _, w := range ix.commands[del.fn] {
		if w.op != opWatch {
			continue
		}
		watched = true
		if w.key.String() == del.key.String() && runsBefore(read.call, w.call) {
			return "WATCH the key before reading it", true
		}
		if w.key.known() && w.key.String() != del.key.String() && ix.watchedKeys(del) == 0 {
			return "WATCH this key, not another one", true
		}
	}
	switch {
	case watched && del.pipe == inMulti:
		return "", false
	case watched:
		return "WATCH protects only what runs between MULTI and EXEC", true
	case del.pipe == inMulti:
		return "MULTI alone does not notice that the key has changed since: WATCH it before the read, or use one script", true
	}
	return "compare and delete in one script", true
}

// watchedKeys counts the WATCH commands for the key of a delete in its function.
func (ix *index) watchedKeys(del *command) int {
	n := 0
	for _, w := range ix.commands[del.fn] {
		if w.op == opWatch && w.key.String() == del.key.String() {
			n++
		}
	}
	return n
}
