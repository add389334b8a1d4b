package ssax

import (
	"testing"

	"golang.org/x/tools/go/ssa"
)

// TestAnyPart_once: 40 phis that are all made of each other lead to each other in 40 to the power of MaxDepth ways.
// Each is looked at once.
func TestAnyPart_once(t *testing.T) {
	all := make([]ssa.Value, 40)
	for i := range all {
		all[i] = &ssa.Phi{}
	}
	for _, v := range all {
		v.(*ssa.Phi).Edges = all
	}
	looks := 0
	if AnyPart(all[0], MaxDepth, func(v ssa.Value) (bool, []ssa.Value) { looks++; return false, v.(*ssa.Phi).Edges }) {
		t.Error("found what nobody was looking for")
	}
	if looks != len(all) {
		t.Errorf("%d looks at %d values, want one for each", looks, len(all))
	}
}

// TestAnyPart_depth: what is further down than asked for is not looked at, and what is there by a shorter way is.
func TestAnyPart_depth(t *testing.T) {
	last := &ssa.Phi{}
	second := &ssa.Phi{Edges: []ssa.Value{last}}
	first := &ssa.Phi{Edges: []ssa.Value{second}}
	is := func(v ssa.Value) (bool, []ssa.Value) { return v == last, v.(*ssa.Phi).Edges }
	if AnyPart(first, 1, is) || !AnyPart(first, 2, is) {
		t.Error("found one level down, or not found two levels down")
	}
	first.Edges = append(first.Edges, last)
	if !AnyPart(first, 1, is) {
		t.Error("not found one level down")
	}
}
