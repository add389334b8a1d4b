package lockcheck

import (
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// countWord marks counters that are no locks, whoever deletes them.
var countWord = regexp.MustCompile(`(?i)limit|quota|attempt|retr|visit|view|stat|fail|rate|badge|unread`)

// findCounters pairs INCR with the DEL or DECR that makes a lock of it. The first who counts has got the lock: there
// is a test for one, and the release runs on that way only. Without these two it is a counter.
func (ix *lockSet) findCounters() {
	var counts, releases []*command
	for _, fn := range ix.funcs {
		for _, c := range ix.commands[fn] {
			switch {
			case !c.key.known():
			case c.op == opCount:
				counts = append(counts, c)
			case c.op == opUncount || c.op == opDelete || c.op == opCompareDel && c.compares:
				releases = append(releases, c)
			}
		}
	}
	for _, c := range counts {
		tests := testsOf(c)
		if len(tests) == 0 && !returnsTest(c) || ix.inTest(c.pos()) {
			continue
		}
		for _, r := range releases {
			if ix.isCounterLock(c, r) {
				l := &lock{acquire: c, release: r, judged: c.root().judged && r.root().judged}
				ix.counters = append(ix.counters, l)
			}
		}
	}
	slices.SortStableFunc(ix.counters, func(a, b *lock) int { return ix.distance(a) - ix.distance(b) })
	for _, l := range ix.counters {
		l.acquire.root().judged, l.release.root().judged = true, true
	}
}

func (ix *lockSet) isCounterLock(c, r *command) bool {
	if c.call == r.call || speaksOfOther(c.fn, c.key) || speaksOfOther(r.fn, r.key) {
		return false
	}
	if !speaksOfLock(c.key) && (countWord.MatchString(c.fn.Name()) || countWord.MatchString(c.key.String())) {
		return false
	}
	if c.fn == r.fn {
		return c.key.String() == r.key.String() && comesAfter(c.call, r.call) && !undoesFailure(r.call) &&
			whenHeld(c, r.call) == onlyHeld
	}
	if ix.inTest(r.pos()) || isForced(r.fn) || ix.acquires(r) || c.key.shape() != r.key.shape() {
		return false
	}
	return namesPair(c.fn, r.fn) || c.key.distinctive() && speaksOfLock(c.key) && !undoesFailure(r.call)
}

// returnsTest reports whether the function of an INCR returns whether it was the first.
func returnsTest(c *command) bool {
	for _, b := range c.fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok {
			continue
		}
		for _, v := range ret.Results {
			if _, ok := successBranch(v, c); ok && isBool(v.Type()) {
				return true
			}
		}
	}
	return false
}
