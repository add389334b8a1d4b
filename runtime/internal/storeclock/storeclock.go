// Package storeclock relates the clock of a store's server to that of this process.
package storeclock

import (
	"sync/atomic"
	"time"
)

// Pair ties the two clocks: Local is not after the moment at which the server's clock showed Micros, because it was read
// before the request was sent.
type Pair struct {
	Local  time.Time
	Micros int64
}

// At returns a local moment that is not after the one at which the server's clock showed micros.
func (p Pair) At(micros int64) time.Time {
	return p.Local.Add(time.Duration(micros-p.Micros) * time.Microsecond)
}

// Clock says what a server's clock shows at the most, by the pair of the last answer. It is good for requests to refuse
// themselves, and not for leases: those use the pair of their own request. If answers of two servers come in turns whose
// clocks differ, some requests refuse themselves too early, and are repeated.
//
// All methods may be called concurrently. Use [New].
type Clock struct {
	base   time.Time    // a moment of this process's monotonic clock
	offset atomic.Int64 // what the server's clock shows at base (µs), or a little more; 0: not known
	heard  atomic.Int64 // when that was learnt, from base (ns)
}

// New returns a clock of which nothing is known.
func New() *Clock { return &Clock{base: time.Now()} }

// Latest is what the server's clock shows at a local moment at the most (µs).
func (c *Clock) Latest(end time.Time) int64 { return c.offset.Load() + end.Sub(c.base).Microseconds() }

// When is the local moment at which the server's clock shows micros, or a little before it.
func (c *Clock) When(micros int64) time.Time {
	return c.base.Add(time.Duration(micros-c.offset.Load()) * time.Microsecond)
}

// Learn takes the pair of an answer that came in this moment.
func (c *Clock) Learn(p Pair) {
	c.offset.Store(p.Micros - p.Local.Sub(c.base).Microseconds())
	c.heard.Store(int64(time.Since(c.base)))
}

// Forget discards the pair, for a new connection that may lead to another server.
func (c *Clock) Forget() { c.offset.Store(0) }

// Known reports whether an answer has told the time.
func (c *Clock) Known() bool { return c.offset.Load() != 0 }

// Heard reports whether the server has told its time within the last d.
func (c *Clock) Heard(d time.Duration) bool {
	return c.Known() && time.Since(c.base)-time.Duration(c.heard.Load()) < d
}
