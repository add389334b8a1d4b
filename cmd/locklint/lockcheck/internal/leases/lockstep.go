package leases

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file follows counters that go with a loop over a list:
//
//	for _, m := range mutexes {
//		if m.Lock() != nil {
//			break
//		}
//		locked++
//	}
//	if locked < len(mutexes) {
//
// At the head of the loop the counter is the number of the round. It is less than the length where the loop goes on,
// and equal to it where the loop has come to its end.

// A beside is a condition on a counter that goes with a loop.
type beside struct {
	key         string
	of          ssa.Value
	more, ended relations // what is left where the loop goes on, and where it ends
}

// besides are those of the condition of a loop.
func (li *Info) besides(ends *ssa.BinOp) (found []beside) {
	head := ends.Block()
	loop, ok := roundsOf(ends)
	if !ok || !isKeptIn(ends.Y, head) {
		return nil
	}
	bound := keyexpr.Of(ends.Y)
	for _, b := range head.Parent().Blocks {
		branch, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		c, ok := branch.Cond.(*ssa.BinOp)
		if !ok || c == ends || holdsFor(c.Op) == 0 {
			continue
		}
		x, y := keyexpr.Of(c.X), keyexpr.Of(c.Y)
		more, ended := less, equal
		counter, limit := c.X, y
		if x.String() == bound.String() {
			counter, limit, more = c.Y, x, greater
		}
		if !bound.Known() || !x.Known() || limit.String() != bound.String() || !li.goesWith(counter, loop) {
			continue
		}
		if y.String() < x.String() { // see condition
			more, ended = more.swapped(), ended.swapped()
		}
		found = append(found, beside{li.asked(c).key, c, more, ended})
	}
	return found
}

// A rounds is a loop that compares the number of the round, from 0 on, with a bound: a variable and a constant.
type rounds struct {
	phi   *ssa.Phi
	ahead int64
}

// roundsOf is the loop that a comparison is the condition of. ok is false for other comparisons.
func roundsOf(ends *ssa.BinOp) (loop rounds, ok bool) {
	head := ends.Block()
	if ends.Op != token.LSS && ends.Op != token.NEQ || !endsLoop(ends, head) ||
		head.Instrs[len(head.Instrs)-1] != (*ends.Referrers())[0] {
		return loop, false
	}
	counter := ends.X
	if sum, ok := ends.X.(*ssa.BinOp); ok && sum.Op == token.ADD {
		if loop.ahead, ok = constNumber(sum.Y); !ok || sum.Block() != head {
			return loop, false
		}
		counter = sum.X
	}
	loop.phi, ok = counter.(*ssa.Phi)
	return loop, ok && loop.phi.Block() == head && countsUp(loop.phi) && startsAt(loop.phi, -loop.ahead)
}

// startsAt reports whether a counter is a number where the loop is entered.
func startsAt(phi *ssa.Phi, n int64) bool {
	for i, e := range phi.Edges {
		if phi.Block().Dominates(phi.Block().Preds[i]) {
			continue
		}
		if start, ok := constNumber(e); !ok || start != n {
			return false
		}
	}
	return true
}

// isKeptIn reports whether the bound of a loop stays what it is: a number, or the length of a list that the loop does
// not set.
func isKeptIn(bound ssa.Value, head *ssa.BasicBlock) bool {
	if n, ok := constNumber(bound); ok {
		return n >= 0
	}
	call, ok := bound.(*ssa.Call)
	if !ok || !isLen(call) {
		return false
	}
	list := ssax.SoleValue(call.Call.Args[0])
	if _, isLoad := list.(*ssa.UnOp); !isLoad {
		return isFixed(list, head)
	}
	loop, kept := ssax.LoopOf(head), true
	ssax.EachInstr(head.Parent(), func(instr ssa.Instruction) {
		st, ok := instr.(*ssa.Store)
		if ok && (loop[st.Block()] || st.Parent() != head.Parent()) && types.Identical(st.Val.Type(), list.Type()) {
			kept = false
		}
	})
	return kept
}

// goesWith reports whether a value is the number of the round, from 0 on, at the head of a loop.
func (li *Info) goesWith(counter ssa.Value, loop rounds) bool {
	head := loop.phi.Block()
	switch counter := counter.(type) {
	case *ssa.Phi:
		if counter.Block() != head || !startsAt(counter, 0) {
			return false
		}
		for i, e := range counter.Edges {
			step, ok := stepOf(e, counter)
			if head.Dominates(head.Preds[i]) && (!ok || step != 1) && !isAhead(e, loop.phi.Edges[i], loop.ahead) {
				return false
			}
		}
		return true
	case *ssa.UnOp:
		if counter.Op != token.MUL {
			return false
		}
		return li.stepsOnce(counter.X, head)
	}
	return false
}

// stepsOnce reports whether a variable is 0 where a loop is entered, and goes up by one in every round. It may be a
// field that only this function can reach.
func (li *Info) stepsOnce(addr ssa.Value, head *ssa.BasicBlock) bool {
	places := li.placesIn(head.Parent())
	cell := places.variable(addr)
	made, ok := cell.(*ssa.Alloc)
	if p, isPlace := cell.(*place); isPlace && !p.open && !p.outside && !places.setsUnseen(p, head.Parent()) {
		made, ok = p.route.root.(*ssa.Alloc)
	}
	if !ok || li.changesOutside(cell) || made.Parent() != head.Parent() {
		return false
	}
	loop := ssax.LoopOf(head)
	var step *ssa.Store
	start := ssa.Instruction(made)
	ok = eachUse(cell, func(instr ssa.Instruction, _ ssa.Value) bool {
		st, isStore := instr.(*ssa.Store)
		switch {
		case !isStore:
			_, isCall := instr.(*ssa.Call)
			return !isCall
		case st.Parent() != head.Parent():
			return false
		case loop[st.Block()]:
			first := step == nil
			step = st
			return first && places.isStep(st, cell)
		}
		first := start == ssa.Instruction(made)
		start = st
		return first && isZero(st.Val)
	})
	return ok && step != nil && isOncePerRound(step.Block(), head) && start.Block().Dominates(head) &&
		isPassedBefore(start.Block(), head)
}

// setsUnseen reports whether a function, or a literal in it, may set a place to what is not known: as part of a whole
// struct, or as some element of an array.
func (found *places) setsUnseen(p *place, fn *ssa.Function) (unseen bool) {
	if slices.ContainsFunc(p.route.steps, func(h hop) bool { return !isStruct(h.in) }) {
		return true
	}
	ssax.EachInstr(ssax.Outermost(fn), func(instr ssa.Instruction) {
		st, ok := instr.(*ssa.Store)
		unseen = unseen || ok && p.mayChange(st.Addr, found) && found.variable(st.Addr) != ssa.Value(p) &&
			!slices.Contains(p.wholes, st)
	})
	return unseen
}

// isZero reports whether a value is 0, or a struct of zero values.
func isZero(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	n, isNumber := constNumber(v)
	return ok && c.Value == nil || isNumber && n == 0
}

// isStep reports whether a store adds one to a variable.
func (found *places) isStep(st *ssa.Store, cell ssa.Value) bool {
	sum, ok := st.Val.(*ssa.BinOp)
	if !ok || sum.Op != token.ADD || sum.Block() != st.Block() {
		return false
	}
	load, ok := sum.X.(*ssa.UnOp)
	n, isConst := constNumber(sum.Y)
	return ok && isConst && n == 1 && load.Op == token.MUL && found.variable(load.X) == cell &&
		load.Block() == st.Block()
}

// isOncePerRound reports whether a block of a loop runs once in each of its rounds.
func isOncePerRound(b, head *ssa.BasicBlock) bool {
	for _, p := range head.Preds {
		if head.Dominates(p) && !b.Dominates(p) {
			return false
		}
	}
	for inner := range ssax.LoopOf(head) {
		if inner != head && ssax.LoopOf(inner)[b] {
			return false
		}
	}
	return true
}

// isPassedBefore reports whether a block runs each time before a loop is entered.
func isPassedBefore(b, head *ssa.BasicBlock) bool {
	for _, outer := range head.Parent().Blocks {
		if loop := ssax.LoopOf(outer); outer != head && loop[head] && !loop[b] {
			return false
		}
	}
	return true
}

// stepOn records what the condition of a loop says of the counters that go with it.
func (f *follower) stepOn(s *pathState, cond asked, outcome bool) {
	for _, other := range cond.besides {
		if !f.bearing.has(other.of) {
			continue
		}
		s.conds[other.key] = other.ended
		if outcome {
			s.conds[other.key] = other.more
		}
	}
}
