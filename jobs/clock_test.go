package jobs

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// TestClock goes through what a node hears from its store, with a local clock that the test moves.
func TestClock(t *testing.T) {
	start := time.Now()
	local := start
	c := newClock(func() time.Time { return local })
	real := func() time.Time { return local.Add(3 * time.Minute) } // what the store's clock shows
	expect := func(want time.Time, within time.Duration, when string) {
		t.Helper()
		if off := c.now().Sub(want).Abs(); off > within {
			t.Errorf("%s: off by %s, want %s at most", when, off, within)
		}
	}
	// ask takes there and back to go to the store and to come back.
	ask := func(there, back time.Duration) {
		sent := local
		local = local.Add(there)
		answer := real()
		local = local.Add(back)
		c.observe(answer, sent)
	}
	expect(local, 0, "before the first answer")
	ask(time.Millisecond, time.Millisecond)
	expect(real(), 0, "after a symmetric answer")
	ask(0, 800*time.Millisecond)
	expect(real(), time.Millisecond, "after a slow, skewed answer: the better one stays")
	local = local.Add(time.Hour)
	expect(real(), time.Millisecond, "an hour later")
	ask(0, 100*time.Millisecond)
	expect(real(), 50*time.Millisecond, "after an hour a slower answer is worth more than an old one")
	before := real
	real = func() time.Time { return before().Add(-time.Minute) }
	ask(0, 200*time.Millisecond)
	expect(real(), 100*time.Millisecond, "after the store's clock was set")
}

// TestScheduler_wakesOnTime puts a node's machine to sleep: its monotonic clock, and the estimate that hangs on it, stand
// still meanwhile. Within a second of waking it has asked the store for the time and runs what is due.
func TestScheduler_wakesOnTime(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		n := c.node(Config{}, 0)
		var slept atomic.Int64
		n.clock = newClock(func() time.Time { return time.Now().Add(-time.Duration(slept.Load())) })
		n.clock.wall = func() time.Time { return time.Now().Round(0) }
		n.lease = time.Hour // so that keeping claims does not ask in passing
		var late time.Duration
		n.add(Job{Name: "j", Spec: "* * * * *", Run: func(ctx context.Context) error {
			_, tick, _ := TickFromContext(ctx)
			late = time.Since(tick) // by the test's clock: the node's may be wrong
			return nil
		}})
		n.start()
		time.Sleep(90*time.Second + time.Millisecond)
		slept.Store(int64(20 * time.Second))
		if !n.clock.stepped() {
			t.Error("a sleep of 20 s was not noticed")
		}
		time.Sleep(35 * time.Second)
		c.stop()
		if got := outcomes(c.runs("j")); got != "ok ok" || late > 2*time.Second {
			t.Errorf("outcomes %q, the last %s late; want two on time", got, late)
		}
	})
}
