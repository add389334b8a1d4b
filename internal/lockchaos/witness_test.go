//go:build linux

package lockchaos

import (
	"strings"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// The lock of process 1 is taken by force in the time from 10 to 20. Process 2 asks for it after that.
func TestWitness_force(t *testing.T) {
	taker := belief{beliefID: beliefID{"process 2", 1}, asked: 21, span: span{22, 60}, fence: lockrt.FenceOf(2)}
	for name, tt := range map[string]struct {
		beliefs []belief // of process 1
		excused bool
	}{
		"held before":     {[]belief{{asked: 1, span: span{5, 40}, fence: lockrt.FenceOf(1)}}, true},
		"seen after":      {[]belief{{asked: 1, span: span{25, 40}, fence: lockrt.FenceOf(1)}}, true},
		"asked for after": {[]belief{{asked: 22, span: span{25, 40}, fence: lockrt.FenceOf(1)}}, false},
		"over before":     {[]belief{{asked: 1, span: span{2, 9}, fence: lockrt.FenceOf(3)}}, false},
		"passed on after": {[]belief{
			{asked: 1, span: span{5, 15}, fence: lockrt.FenceOf(1)},
			{asked: 22, span: span{25, 40}, fence: lockrt.FenceOf(1) + 1},
		}, true},
	} {
		w := newWitness()
		w.forced["k"] = []span{{10, 20}}
		b := taker
		w.hear("k", &b)
		for i := range tt.beliefs {
			tt.beliefs[i].beliefID = beliefID{"process 1", i + 1}
			w.hear("k", &tt.beliefs[i])
		}
		if bad, _ := w.verdict(); (len(bad) == 0) != tt.excused {
			t.Errorf("%s: excused should be %t: %s", name, tt.excused, strings.Join(bad, "; "))
		}
	}
}
