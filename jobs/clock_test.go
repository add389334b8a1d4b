package jobs

import (
	"testing"
	"time"
)

// clockOn is a clock on a local clock that the test moves.
func clockOn(local func() time.Time) *clock {
	c := newClock(local)
	c.local, c.wall, c.firstAt = local, local, local()
	return c
}

// TestClock goes through what a node hears from its store, with a local clock that the test moves.
func TestClock(t *testing.T) {
	t.Parallel()
	start := time.Now()
	local := start
	c := clockOn(func() time.Time { return local })
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

// TestClock_order has two nodes that heard the time from a store that cuts it to the microsecond: what one has ended
// before the other begins something is ended before it by their clocks too.
func TestClock_order(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Microsecond)
	local := func() time.Time { return now }
	first, second := clockOn(local), clockOn(local)
	for _, part := range []time.Duration{0, 1, 400, 999} {
		for _, c := range []*clock{first, second} {
			now = now.Add(time.Second + part)
			c.observe(now.Truncate(time.Microsecond), now)
		}
		now = now.Add(time.Second)
		ended := first.ending(now.Add(-time.Second))
		if began := second.beginning(time.Time{}); began.Before(ended) || began.Sub(now).Abs() > time.Microsecond {
			t.Errorf("%s into a microsecond: ended at %s, then began at %s", part, ended, began)
		}
	}
	if ended := first.ending(now.Add(time.Hour)); !ended.Equal(now.Add(time.Hour)) {
		t.Errorf("a run ends at %s, before it began", ended)
	}
}
