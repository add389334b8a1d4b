package ssax

import (
	"golang.org/x/tools/go/ssa"
)

// RunsBefore reports whether first has run whenever second runs.
func RunsBefore(first, second ssa.Instruction) bool {
	if first.Parent() != second.Parent() {
		return false
	}
	if first.Block() == second.Block() {
		return IndexIn(first.Block(), first) < IndexIn(second.Block(), second)
	}
	return first.Block().Dominates(second.Block())
}

// LoopOf returns the blocks of the natural loop with a head, none if the block is not the head of a loop.
func LoopOf(head *ssa.BasicBlock) map[*ssa.BasicBlock]bool {
	loop := map[*ssa.BasicBlock]bool{}
	var add func(b *ssa.BasicBlock)
	add = func(b *ssa.BasicBlock) {
		if loop[b] {
			return
		}
		loop[b] = true
		if b != head {
			for _, p := range b.Preds {
				add(p)
			}
		}
	}
	for _, p := range head.Preds {
		if head.Dominates(p) {
			loop[head] = true
			add(p)
		}
	}
	return loop
}

// ComesAfter reports whether second can run after first. Across function literals it is taken for granted: they run
// when their function says, mostly at its end.
func ComesAfter(first, second ssa.CallInstruction) bool {
	if first.Parent() != second.Parent() {
		return true
	}
	if _, ok := second.(*ssa.Defer); ok {
		return true
	}
	from, to := first.Block(), second.Block()
	return from == to && IndexIn(from, first) < IndexIn(to, second) || Reaches(from, to)
}

// ChosenBetween reports whether one of two calls of a function runs or the other, but not one after the other.
func ChosenBetween(x, y ssa.CallInstruction) bool {
	return x.Parent() == y.Parent() && x.Block() != y.Block() && !Reaches(x.Block(), y.Block()) &&
		!Reaches(y.Block(), x.Block())
}

// IndexIn is the place of an instruction in its block, -1 if it stands in another.
func IndexIn(b *ssa.BasicBlock, instr ssa.Instruction) int {
	for i, in := range b.Instrs {
		if in == instr {
			return i
		}
	}
	return -1
}

// Rejoin reports whether two branches lead to a common block other than stop, the second one past the first.
func Rejoin(x, y, stop *ssa.BasicBlock) bool {
	after := map[*ssa.BasicBlock]bool{}
	Reach(x, stop, after)
	also := map[*ssa.BasicBlock]bool{x: true} // in a loop the second may come to the first later on
	Reach(y, stop, also)
	delete(also, x)
	for b := range after {
		if also[b] {
			return true
		}
	}
	return false
}

// Reach collects the blocks that can run from b on, without passing stop.
func Reach(b, stop *ssa.BasicBlock, seen map[*ssa.BasicBlock]bool) {
	if b == stop || seen[b] {
		return
	}
	seen[b] = true
	for _, s := range b.Succs {
		Reach(s, stop, seen)
	}
}
