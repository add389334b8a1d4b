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
// Between answers the estimate runs on the local monotonic clock, as timers do. A step of the wall clock does not move
// it, and neither does one of Config.Now. Time during which the machine slept is missing from it; stepped notices that.
type clock struct {
	shown func() time.Time // Config.Now: what the node's clock shows
	local func() time.Time // for what lies between two moments
	wall  func() time.Time // without monotonic reading
	deaf  bool             // for tests: never heed the store

	first, firstAt time.Time // what shown and local told at first

	mu     sync.Mutex    // guards what follows
	store  time.Time     // the store's time at the moment at; zero before the first answer
	at     time.Time     // by local
	within time.Duration // how wrong store may be: half the round trip
	heard  time.Time     // the last answer, by local
	heardW time.Time     // the same moment, by wall
	steps  uint64        // how often the store's clock, or the estimate, was set
}

// driftPart is by how much two clocks may drift apart: 1/driftPart, far more than hardware does.
const driftPart = 1000

// stepSize is by how much a clock moves that was set. What is less makes no wait too long.
const stepSize = 500 * time.Millisecond

func newClock(shown func() time.Time) *clock {
	return &clock{
		shown: shown, local: time.Now, wall: func() time.Time { return time.Now().Round(0) },
		first: shown().UTC().Round(0), firstAt: time.Now(),
	}
}

// now returns the estimate, which before the first answer begins with what the node's clock showed at first.
func (c *clock) now() time.Time { return c.storeAt(c.local()) }

// storeAt is a moment of the local clock as the store's would show it.
func (c *clock) storeAt(local time.Time) time.Time {
	c.mu.Lock()
	store, at := c.store, c.at
	c.mu.Unlock()
	if store.IsZero() {
		store, at = c.first, c.firstAt
	}
	return store.Add(local.Sub(at))
}

// localAt is a moment of the store's clock as the local one would show it.
func (c *clock) localAt(store time.Time) time.Time {
	local := c.local()
	return local.Add(store.Sub(c.storeAt(local)))
}

// offset is how far the node's clock is ahead of the store's. It calls Config.Now, so no mutex may be held.
func (c *clock) offset() time.Duration {
	return c.shown().Sub(c.now()).Truncate(time.Microsecond)
}

// storeTime is storeAt, to the precision of a store.
func (c *clock) storeTime(local time.Time) time.Time {
	return c.storeAt(local).Truncate(time.Microsecond)
}

// beginning is the time at which a run begins. The store cuts its answers to the microsecond, so estimates lag by up to
// one. This time is rounded up by as much: otherwise a run could seem to begin before its tick, or before the run of
// another node has ended. It is never before the claim, whose time may come from an older estimate or another node.
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
// set, the machine slept, or another store has taken over.
func (c *clock) observe(store, sent time.Time) {
	received, wall := c.local(), c.wall()
	within := received.Sub(sent) / 2
	middle := sent.Add(within)
	apart := store.Sub(c.storeAt(middle)).Abs()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard, c.heardW = received, wall
	known := c.within + middle.Sub(c.at)/driftPart
	contradicts := apart > within+known
	if c.deaf || !c.store.IsZero() && within > known && !contradicts {
		return
	}
	if c.store.IsZero() || contradicts && apart > stepSize {
		c.steps++
	}
	c.store, c.at, c.within = store, middle, within
}

// stepCount is how often what now returns has been set, rather than gone on.
func (c *clock) stepCount() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.steps
}

// stepped reports whether, since the last answer, wall and monotonic clock have gone apart: the machine slept, or its
// clock was set, and the store should be asked again.
func (c *clock) stepped() bool {
	now, wall := c.local(), c.wall()
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.heard.IsZero() && (wall.Sub(c.heardW)-now.Sub(c.heard)).Abs() > stepSize
}
