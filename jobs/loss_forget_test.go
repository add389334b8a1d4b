package jobs

import (
	"fmt"
	"testing"
)

// What a node remembers of runs is bounded, and to remember one more does not cost a look at all of them.
func TestForget_manyAreCheap(t *testing.T) {
	const many = 3 * knownRuns
	m, looks := make(map[string]int), 0
	for i := range many {
		forget(m, func(int) bool { looks++; return false })
		m[fmt.Sprint(i)] = i
		if len(m) > knownRuns {
			t.Fatalf("%d are remembered, want %d at the most", len(m), knownRuns)
		}
	}
	if len(m) < knownRuns/2 {
		t.Errorf("%d are remembered, want nearly %d", len(m), knownRuns)
	}
	if looks > 20*many {
		t.Errorf("%d were looked at to remember %d", looks, many)
	}
}
