package etcdstore

import "testing"

func TestNames(t *testing.T) {
	n := newNames()
	a, b, other := n.of("k", "a"), n.of("k", "b"), n.of("l", "c")
	if a == b || a.number != 0 || b.number != 1 || other.number != 0 {
		t.Errorf("the names are %+v, %+v and %+v", a, b, other)
	}
	if again := n.of("k", "a"); again != a {
		t.Errorf("a repeated request has the name %+v after %+v", again, a)
	}
	n.free("k", "a")
	n.free("k", "a")
	n.free("l", "b") // not its key
	if next := n.of("k", "d"); next != a {
		t.Errorf("the next name is %+v, want %+v again", next, a)
	}
	n.series++
	n.free("k", "b")
	if next := n.of("k", "e"); next.number != b.number || next.series == b.series {
		t.Errorf("the name %+v is used again, although a request may come for it: %+v", b, next)
	}
	n.free("l", "c")
	n.free("k", "d")
	n.free("k", "e")
	if len(n.byID) > 0 || len(n.used) > 0 {
		t.Errorf("it remembers %+v", n)
	}
}
