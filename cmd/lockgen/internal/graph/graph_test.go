package graph

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func locks(shapes ...string) []Lock {
	var all []Lock
	for _, s := range shapes {
		all = append(all, Lock{Shape: s, Templates: []string{s}, Functions: []string{"f" + s}})
	}
	return all
}

func cycles(g *Graph) string {
	var red []string
	for _, e := range g.Edges {
		if e.Cycle {
			red = append(red, g.Locks[e.Outer].Shape+g.Locks[e.Inner].Shape)
		}
	}
	return strings.Join(red, " ")
}

func TestNew_marksCycles(t *testing.T) {
	for _, c := range []struct{ edges, want string }{
		{"ab bc", ""},
		{"ab bc ca", "ab bc ca"},
		{"ab ba cd", "ab ba"},
		{"ab bc cb ad", "bc cb"},
		{"aa", "aa"},
		{"ab ba bc cd dc", "ab ba cd dc"},
	} {
		var nestings []Nesting
		for pair := range strings.FieldsSeq(c.edges) {
			nestings = append(nestings, Nesting{Outer: pair[:1], Inner: pair[1:]})
		}
		if got := cycles(New(locks("a", "b", "c", "d"), nestings)); got != c.want {
			t.Errorf("%s: cycles are %q, want %q", c.edges, got, c.want)
		}
	}
	reentrant := []Nesting{{Outer: "a", Inner: "a", Reentrant: true}}
	if got := cycles(New(locks("a"), reentrant)); got != "" {
		t.Errorf("a lock that may be held already is a cycle: %s", got)
	}
}

func TestGraph_isTheSameInAnyOrder(t *testing.T) {
	all := append(locks("a", "b", "c"), locks("a")...)
	nestings := []Nesting{{Outer: "a", Inner: "b", Path: "x"}, {Outer: "a", Inner: "b", Path: "y", Interface: true},
		{Outer: "b", Inner: "c", Path: "p1"}, {Outer: "b", Inner: "c", Path: "p2"}, {Outer: "b", Inner: "c", Path: "p3"},
		{Outer: "b", Inner: "c", Path: "p4", Interface: true}, {Outer: "c", Inner: "a", Path: "z", Interface: true},
		{Outer: "none", Inner: "a", Path: "z"}}
	want := New(all, nestings)
	for range 20 {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		rand.Shuffle(len(nestings), func(i, j int) { nestings[i], nestings[j] = nestings[j], nestings[i] })
		if got := New(all, nestings); got.DOT() != want.DOT() || got.Mermaid() != want.Mermaid() {
			t.Fatalf("%s\n%s", got.DOT(), want.DOT())
		}
	}
	for _, text := range []string{"n1 -> n2 [label=\"x\\ny\" color=red", "label=\"p1\\np2\\np3\\n…\"", "label=\"z\" style=dashed"} {
		if !strings.Contains(want.DOT(), text) {
			t.Errorf("no %s in\n%s", text, want.DOT())
		}
	}
}
