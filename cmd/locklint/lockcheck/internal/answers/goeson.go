package answers

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file finds functions that ask for a lock, look at the answer, and do the same either way.

// GoesOn returns the block at which those who have the lock and those who have not come together again, nil if there is
// none: neither way has done anything by then that work finds, and nothing that is looked at later tells them apart.
func GoesOn(c *rediscmd.Command, work func(*ssa.CallCommon) bool) *ssa.BasicBlock {
	if c.Pipe != rediscmd.Direct || ssax.Reaches(c.Call.Block(), c.Call.Block()) {
		return nil // asked again
	}
	var join *ssa.BasicBlock
	for _, t := range TestsOf(c) {
		if t.block.Parent() != c.Call.Parent() {
			return nil
		}
		at := meet(t, work)
		if at == nil {
			return nil // some test is heeded
		}
		if join == nil {
			join = at
		}
	}
	return join
}

// meet is where the two ways behind a test come together, if nothing else is asked before.
func meet(t outcomeTest, work func(*ssa.CallCommon) bool) *ssa.BasicBlock {
	got, lost := straight(t.taken(), t.block, work), straight(t.lost(), t.block, work)
	for i, b := range lost {
		for j, other := range got {
			if b != other {
				continue
			}
			if told(b, before(got, j, t.block), before(lost, i, t.block)) {
				return nil
			}
			return b
		}
	}
	return nil
}

// straight are the blocks that follow a branch without another branch and without work. The last one may have both.
func straight(b, from *ssa.BasicBlock, work func(*ssa.CallCommon) bool) []*ssa.BasicBlock {
	list := []*ssa.BasicBlock{b}
	for len(b.Preds) == 1 && b.Preds[0] == from && len(b.Succs) == 1 && !works(b, work) {
		from, b = b, b.Succs[0]
		list = append(list, b)
	}
	return list
}

func before(way []*ssa.BasicBlock, i int, from *ssa.BasicBlock) *ssa.BasicBlock {
	if i == 0 {
		return from
	}
	return way[i-1]
}

// works reports whether a block has a call that is work. Deferred calls run later, on both ways.
func works(b *ssa.BasicBlock, work func(*ssa.CallCommon) bool) bool {
	for _, instr := range b.Instrs {
		switch instr := instr.(type) {
		case *ssa.Call:
			if work(&instr.Call) {
				return true
			}
		case *ssa.Store: // other than into the list of a call with any number of arguments
			if _, ok := instr.Addr.(*ssa.IndexAddr); !ok {
				return true
			}
		case *ssa.Go, *ssa.Send, *ssa.MapUpdate, *ssa.Panic:
			return true
		}
	}
	return false
}

// told reports whether a block chooses between values by the way that led to it: they may be looked at later.
func told(b, got, lost *ssa.BasicBlock) bool {
	at := func(pred *ssa.BasicBlock) int {
		for i, p := range b.Preds {
			if p == pred {
				return i
			}
		}
		return -1
	}
	i, j := at(got), at(lost)
	if i < 0 || j < 0 {
		return true
	}
	for _, instr := range b.Instrs {
		if phi, ok := instr.(*ssa.Phi); ok && phi.Edges[i] != phi.Edges[j] {
			return true
		}
	}
	return false
}
