package leases

import (
	"go/token"
	"math"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file follows counters through loops: what a try leaves behind when it ends the loop, and what the last one does.

// stopsAt are the relations of a counter to its bound where a loop has come to its end: a counter that goes by ones from
// the near side stops at the bound, not past it. 0 where the comparison is no condition of such a loop.
func stopsAt(c *ssa.BinOp) relations {
	phi, ok := c.X.(*ssa.Phi)
	if !ok || ssax.LoopOf(phi.Block()) == nil || !endsLoop(c, phi.Block()) {
		return 0
	}
	for i, e := range phi.Edges {
		if !phi.Block().Dominates(phi.Block().Preds[i]) {
			continue
		}
		switch step, ok := stepOf(e, phi); {
		case !ok:
			return 0
		case step == 1 && (c.Op == token.LSS || c.Op == token.NEQ), step == -1 && (c.Op == token.GTR || c.Op == token.NEQ):
		default:
			return 0
		}
	}
	return equal
}

// endsLoop reports whether a loop is left where a comparison is false, and nowhere is it asked again.
func endsLoop(c *ssa.BinOp, head *ssa.BasicBlock) bool {
	loop := ssax.LoopOf(head)
	return len(loop) > 0 && !slices.ContainsFunc(*c.Referrers(), func(use ssa.Instruction) bool {
		branch, ok := use.(*ssa.If)
		return !ok || !loop[branch.Block()] || loop[branch.Block().Succs[1]]
	})
}

// stepOf is the constant that is added to a counter.
func stepOf(v ssa.Value, counter *ssa.Phi) (int64, bool) {
	b, ok := v.(*ssa.BinOp)
	if !ok || b.X != ssa.Value(counter) {
		return 0, false
	}
	c, ok := constNumber(b.Y)
	switch b.Op {
	case token.ADD:
		return c, ok
	case token.SUB:
		return -c, ok
	}
	return 0, false
}

// widen is what a variable holds at the head of a loop in any round, given what it holds in two. Its bounds only move to
// places that a condition asks for, or to infinity, so that no loop is followed number by number.
func widen(old, next content, marks []int64) content {
	if next.lo >= old.lo {
		next.lo = old.lo
	} else {
		next.lo = markBelow(marks, next.lo)
	}
	if next.hi <= old.hi {
		next.hi = old.hi
	} else {
		next.hi = markAbove(marks, next.hi)
	}
	next.exact = next.exact && old.exact && next.text == old.text
	return next
}

func markBelow(marks []int64, n int64) int64 {
	for _, m := range slices.Backward(marks) {
		if m <= n {
			return m
		}
	}
	return math.MinInt64
}

func markAbove(marks []int64, n int64) int64 {
	for _, m := range marks {
		if m >= n {
			return m
		}
	}
	return math.MaxInt64
}
