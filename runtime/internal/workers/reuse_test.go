package workers

import (
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
)

// The goroutines are kept: a call starts none once there is one.
func TestPool_Start_reuse(t *testing.T) {
	var p Pool
	defer p.Close(time.Now().Add(time.Minute))
	idle := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.idle)
	}
	for range 100 {
		if err := p.Do(t.Context(), func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		testsync.Eventually(t, "the goroutine waits for work", func() bool { return idle() > 0 })
	}
	if n := idle(); n != 1 {
		t.Errorf("%d goroutines for calls one after the other", n)
	}
}
