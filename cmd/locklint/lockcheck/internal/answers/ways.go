package answers

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file knows on which ways through a function there is a lock.

// A stand is what a way has made of an acquire.
type stand uint8

const (
	unasked stand = 1 << iota // it has not run
	without                   // it has run, and nobody has found the lock to be there since
	with
)

// ways are the stands of all ways through a function, at the ends of its blocks.
type ways struct {
	tests  map[*ssa.BasicBlock]outcomeTest
	begins map[*ssa.BasicBlock]bool // those with a try
	to     map[*ssa.BasicBlock]stand
}

// waysOf are those with some tries to get a lock. Each begins without it.
func waysOf(fn *ssa.Function, tries []*rediscmd.Command) ways {
	w := ways{map[*ssa.BasicBlock]outcomeTest{}, map[*ssa.BasicBlock]bool{}, map[*ssa.BasicBlock]stand{}}
	for _, c := range tries {
		w.begins[c.Call.Block()] = true
		for _, t := range TestsOf(c) {
			w.tests[t.block] = t
		}
	}
	var visit func(b *ssa.BasicBlock, st stand)
	visit = func(b *ssa.BasicBlock, st stand) {
		if w.begins[b] {
			st = without
		}
		if w.to[b]&st > 0 {
			return
		}
		w.to[b] |= st
		for _, next := range b.Succs {
			visit(next, w.past(b, next, st))
		}
	}
	visit(fn.Blocks[0], unasked)
	return w
}

// past is the stand of a way behind the branch from one block to another.
func (w ways) past(from, to *ssa.BasicBlock, st stand) stand {
	t, asked := w.tests[from]
	switch {
	case asked && t.taken() == to:
		return with
	case asked && st == with:
		return without
	}
	return st
}

// on are the stands of the ways from one block to another.
func (w ways) on(from, to *ssa.BasicBlock) (on stand) {
	for st := unasked; st <= with; st <<= 1 {
		if w.to[from]&st > 0 {
			on |= w.past(from, to, st)
		}
	}
	return on
}

// straight reports whether all ways to a block lead through another one, and from there without another try.
func (w ways) straight(through, to *ssa.BasicBlock) bool {
	if !through.Dominates(to) {
		return false
	}
	for b := range w.begins {
		behind := map[*ssa.BasicBlock]bool{}
		for _, s := range b.Succs {
			ssax.Reach(s, through, behind)
		}
		if through != to && (b == to || behind[to]) {
			return false
		}
	}
	return true
}
