// Package graph draws which locks are taken inside which.
//
// It is pure: locks and nestings go in, text comes out, the same for the same input in any order.
package graph

import (
	"cmp"
	"slices"
	"strings"
)

// A Lock is what one or several functions lock.
type Lock struct {
	Shape     string   // keys of one shape count as one lock
	Templates []string // as they are written, with the types of their values
	Functions []string // that take it
}

// A Nesting is a lock that is taken while another one is held.
type Nesting struct {
	Outer, Inner string // shapes
	Path         string // how: the function that holds, what it calls, and the wrapper that takes
	Interface    bool   // some call on the way goes through an interface: it may lead elsewhere
	Reentrant    bool   // the inner one may be held already
}

// A Graph is made by New.
type Graph struct {
	Locks []Lock
	Edges []Edge
}

// An Edge is all nestings of two locks.
type Edge struct {
	Outer, Inner int // in Locks
	Paths        []string
	Interface    bool // all of them go through an interface
	// Cycle: the locks can be taken in a circle, so that callers may wait for each other.
	Cycle bool
}

// New puts locks and nestings in order, joins what belongs together and finds the cycles.
func New(locks []Lock, nestings []Nesting) *Graph {
	g := &Graph{}
	index := map[string]int{}
	for _, l := range slices.SortedFunc(slices.Values(locks), func(a, b Lock) int { return cmp.Compare(a.Shape, b.Shape) }) {
		i, ok := index[l.Shape]
		if !ok {
			i = len(g.Locks)
			index[l.Shape], g.Locks = i, append(g.Locks, Lock{Shape: l.Shape})
		}
		known := &g.Locks[i]
		known.Templates = append(known.Templates, l.Templates...)
		known.Functions = append(known.Functions, l.Functions...)
	}
	for i := range g.Locks {
		g.Locks[i].Templates, g.Locks[i].Functions = tidy(g.Locks[i].Templates), tidy(g.Locks[i].Functions)
	}
	edges := map[[2]int]*Edge{}
	loops := map[int]bool{} // locks that are taken again by functions that do not expect to hold them
	for _, n := range nestings {
		outer, ok1 := index[n.Outer]
		inner, ok2 := index[n.Inner]
		if !ok1 || !ok2 {
			continue
		}
		at := [2]int{outer, inner}
		if edges[at] == nil {
			edges[at] = &Edge{Outer: outer, Inner: inner, Interface: true}
		}
		e := edges[at]
		e.Paths, e.Interface = append(e.Paths, n.Path), e.Interface && n.Interface
		loops[outer] = loops[outer] || outer == inner && !n.Reentrant
	}
	for _, e := range edges {
		e.Paths = tidy(e.Paths)
		g.Edges = append(g.Edges, *e)
	}
	slices.SortFunc(g.Edges, func(a, b Edge) int { return cmp.Or(a.Outer-b.Outer, a.Inner-b.Inner) })
	component := g.components()
	for i := range g.Edges {
		e := &g.Edges[i]
		e.Cycle = e.Outer == e.Inner && loops[e.Outer] || e.Outer != e.Inner && component[e.Outer] == component[e.Inner]
	}
	return g
}

func tidy(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// components numbers the locks so that two have one number if each can be reached from the other (Tarjan).
func (g *Graph) components() []int {
	next := make([][]int, len(g.Locks))
	for _, e := range g.Edges {
		next[e.Outer] = append(next[e.Outer], e.Inner)
	}
	n := len(g.Locks)
	order, low, component := make([]int, n), make([]int, n), make([]int, n)
	var stack []int
	count, found := 0, 0
	var visit func(v int)
	visit = func(v int) {
		count++
		order[v], low[v] = count, count
		stack = append(stack, v)
		for _, w := range next[v] {
			if order[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if component[w] == 0 {
				low[v] = min(low[v], order[w])
			}
		}
		if low[v] < order[v] {
			return
		}
		found++
		for {
			w := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			component[w] = found
			if w == v {
				return
			}
		}
	}
	for v := range n {
		if order[v] == 0 {
			visit(v)
		}
	}
	return component
}

// maxPaths is how many ways an edge tells of.
const maxPaths = 3

// label are the ways of an edge, one a line.
func (e *Edge) label() []string {
	if len(e.Paths) <= maxPaths {
		return e.Paths
	}
	return append(slices.Clone(e.Paths[:maxPaths]), "…")
}

// label is a lock as it is drawn: its keys, then who takes it.
func (l *Lock) label() []string {
	return append(slices.Clone(l.Templates), strings.Join(l.Functions, ", "))
}
