package leases

import (
	"go/token"
	"math"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
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

// A further is the condition of a loop that is true in the next round, and for which relations it is.
type further struct {
	key  string
	when relations
}

// comesTrue stands before the key of a condition that is true in the next round.
const comesTrue = "next round: "

// furtherRound is what a comparison says of the next round where the two are not equal: a counter that has not come to
// its last value does not end the loop.
//
//	for i := 0; i < tries; i++ {
//		if i == tries-1 {
//			return err
//		}
//	}
func furtherRound(c *ssa.BinOp) further {
	counter, ahead := c.X, int64(0)
	if sum, ok := c.X.(*ssa.BinOp); ok && sum.Op == token.ADD {
		if n, ok := constNumber(sum.Y); ok {
			counter, ahead = sum.X, n
		}
	}
	phi, ok := counter.(*ssa.Phi)
	if !ok {
		return further{}
	}
	head := phi.Block()
	branch, ok := head.Instrs[len(head.Instrs)-1].(*ssa.If)
	if !ok {
		return further{}
	}
	ends, ok := branch.Cond.(*ssa.BinOp)
	if !ok || ends == c || ends.X != counter || !endsLoop(ends, head) || !countsUp(phi) || !isFixed(ends.Y, head) {
		return further{}
	}
	switch ends.Op {
	case token.LSS, token.NEQ:
		ahead--
	case token.LEQ:
	default:
		return further{}
	}
	if !isAhead(c.Y, ends.Y, ahead) {
		return further{}
	}
	a := condition(ends)
	return further{a.key, a.when}
}

// countsUp reports whether a variable goes up by one in every round.
func countsUp(phi *ssa.Phi) bool {
	for i, e := range phi.Edges {
		if !phi.Block().Dominates(phi.Block().Preds[i]) {
			continue
		}
		if step, ok := stepOf(e, phi); !ok || step != 1 {
			return false
		}
	}
	return true
}

// isFixed reports whether a value is the same in all rounds of a loop.
func isFixed(v ssa.Value, head *ssa.BasicBlock) bool {
	if call, ok := v.(*ssa.Call); ok && isLen(call) {
		v = call.Call.Args[0]
	}
	instr, ok := v.(ssa.Instruction)
	return !ok || !ssax.LoopOf(head)[instr.Block()]
}

// isAhead reports whether a value is another one and a number.
func isAhead(v, than ssa.Value, by int64) bool {
	if b, ok := v.(*ssa.BinOp); ok && by != 0 {
		n, ok := constNumber(b.Y)
		return ok && (b.Op == token.ADD && n == by || b.Op == token.SUB && n == -by) && isAhead(b.X, than, 0)
	}
	x, y := keyexpr.Of(v), keyexpr.Of(than)
	return by == 0 && x.Known() && x.String() == y.String()
}

// nextRound is what is left of the answers to conditions when another round of a loop begins.
func nextRound(conds map[string]relations) map[string]relations {
	next := map[string]relations{}
	for key, r := range conds {
		if key, ok := strings.CutPrefix(key, comesTrue); ok {
			next[key] = r
		}
	}
	return next
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

// marked is what a variable holds at the head of a loop, given what it holds in one round that is not the first.
func (c content) marked(marks []int64) content {
	return content{lo: markBelow(marks, c.lo), hi: markAbove(marks, c.hi), computed: true}
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
