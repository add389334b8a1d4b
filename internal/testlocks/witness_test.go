package testlocks

import (
	"strings"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestWitness(t *testing.T) {
	at := func(from, to int64, fence lockrt.Fence) Belief {
		return Belief{From: from, To: to, Fence: fence, Slot: -1}
	}
	reads := func(b Belief) Belief { b.Read = true; return b }
	permit := func(slot int, b Belief) Belief { b.Slot = slot; return b }
	for name, tt := range map[string]struct {
		all []Belief
		bad int
	}{
		"one after another":          {[]Belief{at(0, 1, 1), at(2, 3, 2), reads(at(4, 6, 3)), permit(0, at(7, 8, 4))}, 0},
		"two writers":                {[]Belief{at(0, 2, 1), at(1, 3, 2)}, 1},
		"fences against time":        {[]Belief{at(0, 1, 2), at(2, 3, 1)}, 1},
		"one fence twice":            {[]Belief{at(0, 1, 1), at(2, 3, 1)}, 1},
		"readers together":           {[]Belief{reads(at(0, 5, 1)), reads(at(1, 2, 1)), reads(at(4, 7, 1))}, 0},
		"reader that was a writer":   {[]Belief{at(0, 5, 1), reads(at(6, 9, 1)), reads(at(7, 8, 1))}, 0},
		"writer beside its readers":  {[]Belief{at(0, 5, 1), reads(at(4, 9, 1))}, 1},
		"readers with two fences":    {[]Belief{reads(at(0, 5, 1)), reads(at(1, 2, 2))}, 1},
		"writer among readers":       {[]Belief{reads(at(0, 5, 1)), reads(at(1, 2, 1)), at(3, 4, 2)}, 1},
		"reader beside a writer":     {[]Belief{at(0, 5, 1), at(6, 7, 2), reads(at(4, 5, 3))}, 1},
		"reader before the others":   {[]Belief{at(0, 5, 1), reads(at(6, 9, 2)), reads(at(4, 8, 2))}, 1},
		"permit before the others":   {[]Belief{at(0, 5, 1), permit(0, at(6, 9, 2)), permit(1, at(4, 8, 3))}, 1},
		"permits together":           {[]Belief{permit(0, at(0, 5, 1)), permit(1, at(1, 2, 2)), permit(1, at(3, 4, 3))}, 0},
		"one slot twice":             {[]Belief{permit(0, at(0, 5, 1)), permit(1, at(1, 2, 2)), permit(0, at(3, 4, 3))}, 1},
		"permit beside a reader":     {[]Belief{permit(0, at(0, 5, 1)), reads(at(4, 6, 2))}, 1},
		"a long one before a short":  {[]Belief{at(0, 9, 1), at(1, 2, 2), at(5, 6, 3)}, 2},
		"a short one after a reader": {[]Belief{reads(at(0, 9, 1)), reads(at(1, 2, 1)), reads(at(3, 4, 1)), at(8, 9, 2)}, 1},
	} {
		if bad := judge(tt.all); len(bad) != tt.bad {
			t.Errorf("%s: %q, want %d problems", name, bad, tt.bad)
		}
	}
}

func TestWitness_Listen(t *testing.T) {
	w := NewWitness()
	b := Belief{Key: "a b", Number: 1, From: 1, To: 2, Node: "n", Fence: lockrt.FenceOf(7), Slot: -1}
	longer, other := b, b
	longer.To, other.From, other.To, other.Number = 9, 5, 6, 2
	other.Fence++
	if w.listen("n", strings.NewReader(b.line()+"\n"+longer.line()+"\nalive \"torn")) {
		t.Error("a killed process has come to its end")
	}
	if !w.listen("m", strings.NewReader(other.line()+"\ndone\n")) {
		t.Error("a process has not come to its end")
	}
	if bad, leases := w.Verdict(); len(bad) != 1 || leases != 2 {
		t.Errorf("%d leases, %q; want two that overlap", leases, bad)
	}
	if w.listen("n", strings.NewReader("panic: no\n")) {
		t.Error("a process that failed has come to its end")
	}
	if bad, _ := w.Verdict(); len(bad) != 2 {
		t.Errorf("%q does not repeat what a process says", bad)
	}
}
