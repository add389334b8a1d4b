package locks

import (
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// countWord marks counters that are no locks, whoever deletes them.
var countWord = regexp.MustCompile(`(?i)limit|quota|attempt|retr|visit|view|stat|fail|rate|badge|unread`)

// FindCounters pairs INCR with the DEL or DECR that makes a lock of it. The first who counts has got the lock: there
// is a test for one, and the release runs on that way only. Without these two it is a counter.
func (ix *Set) FindCounters() {
	var counts, releases []*rediscmd.Command
	for _, fn := range ix.Funcs {
		for _, c := range ix.Commands[fn] {
			switch {
			case !c.Key.Known():
			case c.Op == ops.Count:
				counts = append(counts, c)
			case c.Op == ops.Uncount || c.Op == ops.Delete || c.Op == ops.CompareDel && c.Compares:
				releases = append(releases, c)
			}
		}
	}
	for _, c := range counts {
		tests := answers.TestsOf(c)
		if len(tests) == 0 && !returnsTest(c) || ix.InTest(c.Pos()) || answers.HasLimit(c) { // a semaphore
			continue
		}
		for _, r := range releases {
			if ix.isCounterLock(c, r) {
				l := &Lock{Acquire: c, Release: r, Judged: Responsible(c).Judged && Responsible(r).Judged}
				ix.Counters = append(ix.Counters, l)
			}
		}
	}
	slices.SortStableFunc(ix.Counters, func(a, b *Lock) int { return ix.distance(a) - ix.distance(b) })
	for _, l := range ix.Counters {
		Responsible(l.Acquire).Judged, Responsible(l.Release).Judged = true, true
	}
}

func (ix *Set) isCounterLock(c, r *rediscmd.Command) bool {
	if c.Call == r.Call || c.Ended || r.Ended || r.Forced || speaksOfOther(c.Fn, c.Key) || speaksOfOther(r.Fn, r.Key) {
		return false
	}
	if !speaksOfLock(c.Key) && (countWord.MatchString(c.Fn.Name()) || countWord.MatchString(c.Key.String())) {
		return false
	}
	if c.Fn == r.Fn {
		return c.Key.String() == r.Key.String() && ssax.ComesAfter(c.Call, r.Call) && !ssax.UndoesFailureSince(c.Call, r.Call) &&
			answers.WhenHeld(c, r.Call) == answers.OnlyHeld
	}
	if ix.InTest(r.Pos()) || isForced(r.Fn) || ix.acquires(r) || c.Key.Shape() != r.Key.Shape() {
		return false
	}
	return namesPair(c.Fn, r.Fn) || c.Key.Distinctive() && speaksOfLock(c.Key) && !ssax.UndoesFailure(r.Call)
}

// returnsTest reports whether the function of an INCR returns whether it was the first.
func returnsTest(c *rediscmd.Command) bool {
	for _, b := range c.Fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok {
			continue
		}
		for _, v := range ret.Results {
			if _, ok := answers.SuccessBranch(v, c); ok && ssax.IsBool(v.Type()) {
				return true
			}
		}
	}
	return false
}
