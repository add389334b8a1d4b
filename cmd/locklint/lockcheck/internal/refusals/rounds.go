package refusals

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file tells the later rounds of a loop from what is behind it.

// nextRound reports whether a call runs without the lock only in a later round of the loop of an acquire, as in the loop of
// a leader that asks its lock in one case of a select and takes it in another, or leaves in a third, and where those who
// have not got the lock look for a result again. A loop that only counts its tries, or looks at the clock or its context, has
// no such later round, unless these are asked once more behind it.
func nextRound(flow *leases.Flow, call ssa.CallInstruction) bool {
	acquire := flow.Site.Call
	if acquire.Parent() != call.Parent() || acquire.Block() == call.Block() {
		return false
	}
	reached, heads := map[*ssa.BasicBlock]bool{}, map[*ssa.BasicBlock]bool{}
	byClock := false
	var follow, leave func(b *ssa.BasicBlock)
	follow = func(b *ssa.BasicBlock) {
		reached[b] = true
		for _, s := range b.Succs {
			granted, refused := flow.Taken(b, s)
			switch {
			case reached[s] || granted && !refused:
			case !s.Dominates(b):
				follow(s)
			default:
				leave(s)
			}
		}
	}
	// leave goes on behind a loop from a head of it that only counts, unless whoever has the lock goes round, too.
	leave = func(head *ssa.BasicBlock) {
		loop := ssax.LoopOf(head)
		holders := false
		var behind []*ssa.BasicBlock
		var count func(b *ssa.BasicBlock)
		count = func(b *ssa.BasicBlock) {
			heads[b] = true
			byClock = byClock || slices.ContainsFunc(b.Instrs, asksClock)
			for _, s := range b.Succs {
				granted, refused := flow.Taken(b, s)
				switch {
				case !loop[s]:
					if refused || !granted {
						behind = append(behind, s)
					}
				case s == acquire.Block() || slices.ContainsFunc(s.Instrs, asksMore):
					holders = holders || granted
				case !heads[s]:
					count(s)
				}
			}
		}
		if heads[head] || slices.ContainsFunc(head.Instrs, asksMore) {
			return
		}
		count(head)
		for _, b := range behind {
			if !holders && !reached[b] {
				follow(b)
			}
		}
	}
	follow(acquire.Block())
	if reached[call.Block()] {
		return byClock && clockDecides(call.Block(), heads)
	}
	return ssax.Reaches(acquire.Block(), call.Block())
}

// asksMore reports whether an instruction finds out something that no constant, no counter and no clock says.
func asksMore(instr ssa.Instruction) bool {
	switch instr := instr.(type) {
	case *ssa.Next, *ssa.Select, ssa.CallInstruction:
		return !asksClock(instr)
	case *ssa.UnOp:
		return instr.Op == token.ARROW && !asksClock(instr)
	}
	return false
}

// asksClock reports whether an instruction asks how late it is, or whether a context is over, or waits for that.
func asksClock(instr ssa.Instruction) bool {
	switch instr := instr.(type) {
	case *ssa.Call:
		m, ok := ssax.MethodOf(&instr.Call)
		return ok && (m.Recv != nil && ssax.IsContext(m.Recv.Type()) || m.Obj.Pkg() != nil && m.Obj.Pkg().Path() == "time")
	case *ssa.UnOp:
		return instr.Op == token.ARROW && isOfClock(instr.X)
	case *ssa.Select:
		return !slices.ContainsFunc(instr.States, func(s *ssa.SelectState) bool { return !isOfClock(s.Chan) })
	}
	return false
}

// isOfClock reports whether a channel is that of a timer, or says that a context is over.
func isOfClock(ch ssa.Value) bool {
	if call, ok := ssax.SoleValue(ch).(*ssa.Call); ok {
		return asksClock(call)
	}
	of, ok := ch.Type().Underlying().(*types.Chan)
	return ok && ssax.FullTypeName(of.Elem()) == "time.Time"
}

// clockDecides reports whether a block runs behind a branch on the clock or on a context that stands in none of some others.
func clockDecides(b *ssa.BasicBlock, others map[*ssa.BasicBlock]bool) bool {
	for ; b.Idom() != nil && !others[b.Idom()]; b = b.Idom() {
		instrs := b.Idom().Instrs
		if branch, ok := instrs[len(instrs)-1].(*ssa.If); ok && isMadeOfClock(branch.Cond) {
			return true
		}
	}
	return false
}

// isMadeOfClock reports whether a value comes from a look at the clock or at a context.
func isMadeOfClock(v ssa.Value) bool {
	return ssax.AnyPart(v, ssax.MaxDepth, func(v ssa.Value) (bool, []ssa.Value) {
		v = ssax.SoleValue(v)
		instr, ok := v.(ssa.Instruction)
		return ok && asksClock(instr), ssax.Operands(v)
	})
}
