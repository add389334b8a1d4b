package testlocks

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A chaos that has not done its least number of faults proves nothing, and says so.
func TestChaos_tooFewFaults(t *testing.T) {
	for name, c := range map[string]struct {
		patience      time.Duration
		faults, least int
		few           bool
	}{
		"all of them":            {time.Hour, 4, 2, false},
		"the time is over":       {time.Nanosecond, 4, 2, true},
		"all, and they are few":  {time.Hour, 2, 4, true},
		"none may be missing":    {time.Nanosecond, 4, 4, true},
		"none may be, none does": {time.Hour, 4, 4, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &run{
				Chaos: Chaos{Faults: c.faults, Patience: c.patience}, rand: rand.New(rand.NewPCG(1, 2)), nodes: []*node{{}},
				harms: []harm{{"nothing", 1, func(*run, *node, time.Duration, time.Duration) {}}}, acts: make(map[string]int),
				least: c.least,
			}
			done := r.harm()
			if err := r.tooFew(done); (err != nil) != c.few {
				t.Errorf("after %d of %d faults, at least %d: %v", done, c.faults, c.least, err)
			}
		})
	}
}
