package jobs

import (
	"sync"
	"time"
)

// clock estimates the time of a part of the store from the moments of its answers. Nodes schedule by it, so that it
// does not matter what their own clocks show; the store refuses what comes too early all the same. Parts may be servers
// with clocks of their own: what is decided, awaited and recorded about a job goes by that of the part with the job,
// wherever its lock is.
//
// Between answers the estimate runs on the local monotonic clock. A step of the wall clock does not move it; time
// during which the machine slept is missing from it, which stepped notices.
type clock struct {
	local func() time.Time
	wall  func() time.Time // without monotonic reading
	deaf  bool             // for tests: do not correct the local clock

	mu     sync.Mutex    // guards what follows
	store  time.Time     // the store's time at the moment at; zero before the first answer
	at     time.Time     // by local
	within time.Duration // how wrong store may be: half the round trip
	heard  time.Time     // the last answer, by local
	heardW time.Time     // the same moment, by wall
}

// driftPart is by how much two clocks may drift apart: 1/driftPart, far more than hardware does.
const driftPart = 1000

func newClock(local func() time.Time) *clock {
	return &clock{local: local, wall: func() time.Time { return local().Round(0) }}
}

// now returns the estimate, and before the first answer the local time.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.storeAt(c.local())
}

// storeAt needs mu.
func (c *clock) storeAt(local time.Time) time.Time {
	if c.store.IsZero() {
		return local.UTC()
	}
	return c.store.Add(local.Sub(c.at))
}

// offset is how far the local wall clock is ahead of the store's.
func (c *clock) offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall().Sub(c.storeAt(c.local())).Truncate(time.Microsecond)
}

// storeTime is a moment of the local clock as the store's would have shown it.
func (c *clock) storeTime(local time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.storeAt(local).Truncate(time.Microsecond)
}

// beginning is now for the begin of a run. The store cuts its answers to the microsecond, so that estimates lag by up
// to one: this is rounded up by as much, lest a run seem to begin before that of another node has ended, or before its
// tick. It is not before the run was claimed, by an estimate that was corrected meanwhile, or by another node's.
func (c *clock) beginning(claimed time.Time) time.Time {
	return latest(claimed, c.now().Add(time.Microsecond).Truncate(time.Microsecond))
}

// ending is now for the end of a run that began at began, or was claimed then, with the same care.
func (c *clock) ending(began time.Time) time.Time {
	return latest(began, c.now().Truncate(time.Microsecond))
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// observe takes in the store's time from an answer to a question that was asked at sent. An estimate from a faster
// answer stays, unless it has become too old to be better or the two contradict each other: then the store's clock was
// set, or another store has taken over.
func (c *clock) observe(store, sent time.Time) {
	received, wall := c.local(), c.wall()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard, c.heardW = received, wall
	within := received.Sub(sent) / 2
	middle := sent.Add(within)
	known := c.within + middle.Sub(c.at)/driftPart
	apart := store.Sub(c.storeAt(middle)).Abs()
	if c.deaf || !c.store.IsZero() && within > known && apart <= within+known {
		return
	}
	c.store, c.at, c.within = store, middle, within
}

// stepped reports whether, since the last answer, wall and monotonic clock have gone apart: the machine slept, or its
// clock was set, and the store should be asked again.
func (c *clock) stepped() bool {
	now, wall := c.local(), c.wall()
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.heard.IsZero() && (wall.Sub(c.heardW)-now.Sub(c.heard)).Abs() > 500*time.Millisecond
}
