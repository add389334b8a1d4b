package leases

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file tells the locks of a list apart:
//
//	for _, m := range mutexes {
//		if err := m.Lock(); err != nil {
//			return err
//		}
//		defer m.Unlock()
//	}
//
// Each round locks another one. What earlier rounds have deferred releases theirs.

// elementRounds is the head of the loop that takes a lock out of a list, another one in each round. Nil for locks that are
// no such elements.
func elementRounds(mutex ssa.Value) *ssa.BasicBlock {
	for range 2 * ssax.MaxDepth {
		switch of := ssax.SoleValue(mutex).(type) {
		case *ssa.UnOp:
			mutex = of.X
		case *ssa.FieldAddr:
			mutex = of.X
		case *ssa.Field:
			mutex = of.X
		case *ssa.Alloc: // a struct
			set, ok := ssax.OnlyStore(of)
			if !ok {
				return nil
			}
			mutex = set
		case *ssa.IndexAddr:
			return walks(of.Index, of.X)
		case *ssa.Extract:
			if next, ok := of.Tuple.(*ssa.Next); ok && of.Index > 0 && isOnce(next.Block(), next.Iter) {
				return next.Block()
			}
			return nil
		default:
			return nil
		}
	}
	return nil
}

// walks is the head of the loop that an index goes through a list with, nil if it is not one that changes in each round.
func walks(index, list ssa.Value) *ssa.BasicBlock {
	index = ssax.SoleValue(index)
	if sum, ok := index.(*ssa.BinOp); ok && (sum.Op == token.ADD || sum.Op == token.SUB) {
		index = sum.X
	}
	phi, ok := index.(*ssa.Phi)
	if !ok || len(ssax.LoopOf(phi.Block())) == 0 || !isOnce(phi.Block(), list) {
		return nil
	}
	for i, e := range phi.Edges {
		if !phi.Block().Dominates(phi.Block().Preds[i]) {
			continue
		}
		if step, ok := stepOf(e, phi); !ok || step == 0 {
			return nil
		}
	}
	return phi.Block()
}

// isOnce reports whether a loop goes through a list only once: no loop around it does so again with the same one.
func isOnce(head *ssa.BasicBlock, list ssa.Value) bool {
	for _, outer := range head.Parent().Blocks {
		if outer != head && ssax.LoopOf(outer)[head] && isFixed(list, outer) {
			return false
		}
	}
	return true
}

// nextElement begins a round with the next lock of a list, where an edge leads into one.
func (f *follower) nextElement(s *pathState, from, to *ssa.BasicBlock) {
	if f.site != nil && f.site.rounds == from && ssax.LoopOf(from)[to] {
		s.another(f.site.Recv)
	}
}
