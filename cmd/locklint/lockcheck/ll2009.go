package lockcheck

import (
	"fmt"
	"strings"

	"golang.org/x/tools/go/analysis"
)

var ll2009 = newCheck("LL2009",
	"GETSET timestamp lock: needs synchronized clocks, overwrites the winner's expiry", Warning, false, checkTimeLocks)

// checkTimeLocks reports locks that keep their expiry in the value and take over an expired one with GETSET.
func checkTimeLocks(r *reporter) {
	done := map[*command]bool{}
	for _, fn := range r.index.funcs {
		for _, a := range r.index.commands[fn] {
			if a.op != opAcquire || !a.key.known() || r.index.inTest(a.pos()) {
				continue
			}
			s := r.index.takeover(a)
			if s == nil || done[s.root()] || s.via != "" && s.judged {
				continue
			}
			done[s.root()] = true
			s, a := s.root(), a.root() // the function that makes up the lock, not those that use it
			pos, end := r.span(s)
			r.report(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("%s takes over the lock of the %s at %s by the time in its value: that needs clocks that "+
					"agree on all machines, and whoever loses the race has already overwritten the winner's time; let the server "+
					"end the lock: SET key token NX PX ttl",
					s.what(), a.name, r.place(a.pos(), s.pos())),
				Related: []analysis.RelatedInformation{{Pos: a.pos(), Message: "the lock is acquired here"}},
			})
		}
	}
}

// takeover returns the GETSET that belongs to an acquire: on the same key and with times as values, or in the
// acquire's own function if the key or the function says that it is about a lock.
func (ix *lockSet) takeover(a *command) *command {
	for _, fn := range ix.funcs {
		for _, s := range ix.commands[fn] {
			if s.op != opSwap || ix.inTest(s.pos()) || speaksOfOther(s.fn, s.key) {
				continue
			}
			if ix.takesOver(a, s) {
				return s
			}
		}
	}
	return nil
}

func (ix *lockSet) takesOver(a, s *command) bool {
	timed := isTimed(s.value) || isTimed(a.value)
	if a.fn == s.fn {
		return a.key.String() == s.key.String() && (timed || speaksOfLock(a.key) || lockWord.MatchString(a.fn.Name()))
	}
	return timed && ix.related(a, s) &&
		(receiverName(a.fn) != "" && receiverName(a.fn) == receiverName(s.fn) || speaksOfLock(a.key))
}

// isTimeLock reports whether the value of an acquire is the time at which the lock ends.
func (ix *lockSet) isTimeLock(a *command) bool {
	adds := func(k keyExpr) bool { return k.Text == opAdd || k.Text == "(time.Time).Add" }
	return isTimed(a.value) && a.value.any(adds) || ix.takeover(a) != nil
}

// isTimed reports whether a value is made of the time.
func isTimed(k keyExpr) bool {
	return k.any(func(k keyExpr) bool {
		return k.Op == keyCall && (k.Text == "time.Now" || strings.HasPrefix(k.Text, "(time.Time)."))
	})
}
