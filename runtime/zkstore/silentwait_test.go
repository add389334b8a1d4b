package zkstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// A server falls silent before any one of the packets that a wait sends. The wait ends at its own time and not with the
// 5 s of a question.
func TestWait_endsInTimeWhereverTheServerFallsSilent(t *testing.T) {
	e := one(t)
	const wait = time.Second
	for n := 1; n <= 6; n++ {
		t.Run(fmt.Sprint("packet ", n), func(t *testing.T) {
			h := newNode(t, e.Addrs(), config(patient), "h", lockrt.Config{})
			a := newNode(t, e.Addrs(), config(patient), "a", lockrt.Config{LocalHandoffs: -1})
			held := acquire(t, h.locks, "k", lockrt.Options{TTL: long})
			release(t, acquire(t, a.locks, "warm", lockrt.Options{TTL: long}))
			line, left := a.lines[0], n
			var next func()
			next = func() {
				if left--; left == 0 {
					line.Silence()
					return
				}
				line.On("", next)
			}
			line.On("", next)
			began := time.Now()
			_, err := a.locks.Acquire(context.Background(), "k", lockrt.Options{TTL: long, Wait: wait})
			if took := time.Since(began); err == nil || took > (wait+5*time.Second)/2 {
				t.Errorf("a wait of %s took %s: %v", wait, took, err)
			}
			a.each((*testenv.Proxy).Resume)
			release(t, held)
		})
	}
}
