package testsync

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// Bubble is synctest.Test for simulations of many goroutines and timers. With the race detector the process has one
// processor meanwhile: there a timer that has run out is run by whoever looks at it, all timers of a bubble are one
// thread to the detector, and two processors that run them at a time make it crash (golang/go issue 78156). It finds
// races on one processor, too: it looks at what is ordered, and not at what happened at a time.
func Bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if raceEnabled {
		simulations.begin()
		defer simulations.end()
	}
	synctest.Test(t, test)
}

var simulations oneProcessor

// oneProcessor takes the processors of the process but one, for as long as somebody has begun and not ended.
type oneProcessor struct {
	mu     sync.Mutex
	users  int
	before int // how many there were
}

func (o *oneProcessor) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.users++; o.users == 1 {
		o.before = runtime.GOMAXPROCS(1)
	}
}

func (o *oneProcessor) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.users--; o.users == 0 {
		runtime.GOMAXPROCS(o.before)
	}
}
