package lockrt

import (
	"sync"
	"time"
)

// tellings are losses that have happened, and of which the program has not heard yet.
type tellings struct {
	mu    sync.Mutex
	n     int
	heard chan struct{} // closed when there is none any more; nil: nobody waits for that
}

// begin is called before a lease is ended as lost, and the returned function when the program has heard of it.
func (t *tellings) begin() (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
	return t.end
}

func (t *tellings) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 && t.heard != nil {
		close(t.heard)
		t.heard = nil
	}
}

// wait waits until the program has heard of all, for d at the most.
func (t *tellings) wait(d time.Duration) {
	t.mu.Lock()
	if t.n == 0 {
		t.mu.Unlock()
		return
	}
	if t.heard == nil {
		t.heard = make(chan struct{})
	}
	heard := t.heard
	t.mu.Unlock()
	patience := time.NewTimer(d)
	defer patience.Stop()
	select {
	case <-heard:
	case <-patience.C:
	}
}
