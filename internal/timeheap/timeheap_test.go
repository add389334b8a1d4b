package timeheap

import (
	"math/rand/v2"
	"testing"
	"time"
)

type element struct {
	at    time.Time
	index int
}

// TestHeap makes random changes to a heap and to a plain set beside it: the first is always the earliest of the set.
func TestHeap(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	start := time.Now()
	h := New(func(e *element) *int { return &e.index })
	all := make([]*element, 40)
	for i := range all {
		all[i] = new(element)
	}
	in := make(map[*element]bool)
	for range 20_000 {
		e := all[r.IntN(len(all))]
		if r.IntN(3) == 0 {
			h.Remove(e)
			delete(in, e)
		} else {
			e.at = start.Add(time.Duration(r.IntN(20)))
			h.Set(e, e.at)
			in[e] = true
		}
		if h.Len() != len(in) {
			t.Fatalf("Len = %d, want %d", h.Len(), len(in))
		}
		for _, e := range all {
			if h.Has(e) != in[e] {
				t.Fatalf("Has = %v of an element that is in it: %v", h.Has(e), in[e])
			}
		}
		for e := range in {
			if first, at := h.First(); !at.Equal(first.at) || at.After(e.at) {
				t.Fatalf("First = %s of an element of %s, while another is of %s", at, first.at, e.at)
			}
		}
	}
}

// TestHeap_TakeDue takes out all elements in their order, and none before its time.
func TestHeap_TakeDue(t *testing.T) {
	t.Parallel()
	start := time.Now()
	h := New(func(e *element) *int { return &e.index })
	for _, i := range rand.Perm(100) {
		e := &element{at: start.Add(time.Duration(i / 2))}
		h.Set(e, e.at)
	}
	for i := range 100 {
		due := start.Add(time.Duration(i / 2))
		if e, ok := h.TakeDue(due.Add(-1)); ok {
			t.Fatalf("taken %s before its time", e.at.Sub(due.Add(-1)))
		}
		if e, ok := h.TakeDue(due); !ok || !e.at.Equal(due) || h.Has(e) {
			t.Fatalf("TakeDue(%d) = %+v, %v; want what is due", i, e, ok)
		}
	}
	if _, ok := h.TakeDue(start.Add(time.Hour)); ok {
		t.Fatal("taken from an empty heap")
	}
}

// TestHeap_allocations checks that an element that comes and goes costs none.
func TestHeap_allocations(t *testing.T) {
	h := New(func(e *element) *int { return &e.index })
	now := time.Now()
	h.Set(new(element), now)
	e := new(element)
	if n := testing.AllocsPerRun(100, func() { h.Set(e, now); h.Remove(e) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
