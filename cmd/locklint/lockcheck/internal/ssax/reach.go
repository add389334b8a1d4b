package ssax

import (
	"sync"

	"golang.org/x/tools/go/ssa"
)

// This file finds out which block can run after which. Some checks ask that of each two locks of a function, so that the
// order of its blocks is worked out once for many questions.

// Reaches reports whether a block can run after another: itself only if it can run twice.
func Reaches(from, to *ssa.BasicBlock) bool {
	if from.Parent() != to.Parent() {
		return false
	}
	if from != to && from.Dominates(to) {
		return true
	}
	o := orders.Get().(*order)
	defer orders.Put(o)
	if o.fn != from.Parent() {
		*o = *orderOf(from.Parent())
	}
	return o.reaches(from, to)
}

// orders are those of the functions that were asked about last. They keep nothing alive for long.
var orders = sync.Pool{New: func() any { return new(order) }}

// An order numbers the blocks of a function so that no block reaches one with a higher number, and that those with the
// same number reach each other.
type order struct {
	fn     *ssa.Function
	number []int  // by index of the block
	loops  []bool // by number: whether the blocks with it reach themselves
}

// orderOf finds the strongly connected parts of a function, as Tarjan does.
func orderOf(fn *ssa.Function) *order {
	o := &order{fn: fn, number: make([]int, len(fn.Blocks))}
	met, low := make([]int, len(fn.Blocks)), make([]int, len(fn.Blocks)) // met counts from 1
	var stack []*ssa.BasicBlock
	count := 0
	var visit func(b *ssa.BasicBlock)
	visit = func(b *ssa.BasicBlock) {
		count++
		met[b.Index], low[b.Index] = count, count
		stack = append(stack, b)
		again := false
		for _, s := range b.Succs {
			again = again || s == b
			switch {
			case met[s.Index] == 0:
				visit(s)
				low[b.Index] = min(low[b.Index], low[s.Index])
			case o.number[s.Index] == 0: // not numbered yet
				low[b.Index] = min(low[b.Index], met[s.Index])
			}
		}
		if low[b.Index] < met[b.Index] {
			return
		}
		o.loops = append(o.loops, again || stack[len(stack)-1] != b)
		for n := len(o.loops); o.number[b.Index] == 0; stack = stack[:len(stack)-1] {
			o.number[stack[len(stack)-1].Index] = n
		}
	}
	for _, b := range fn.Blocks {
		if met[b.Index] == 0 {
			visit(b)
		}
	}
	return o
}

func (o *order) reaches(from, to *ssa.BasicBlock) bool {
	n := o.number[to.Index]
	switch first := o.number[from.Index]; {
	case first == n:
		return o.loops[n-1]
	case first < n:
		return false
	}
	seen := make([]bool, len(o.number))
	reach := []*ssa.BasicBlock{from}
	for len(reach) > 0 {
		b := reach[len(reach)-1]
		reach = reach[:len(reach)-1]
		for _, s := range b.Succs {
			if o.number[s.Index] == n {
				return true
			}
			if !seen[s.Index] && o.number[s.Index] > n {
				seen[s.Index] = true
				reach = append(reach, s)
			}
		}
	}
	return false
}
