package sqlstore

import (
	"sync/atomic"
	"time"
)

// serverClock says what the server's clock shows at the most, by the pair of the last answer. It is good for requests
// to refuse themselves, not for leases: those use the pair of their own request.
type serverClock struct {
	base   time.Time     // a moment of this process's monotonic clock
	offset *atomic.Int64 // what the server's clock shows at base (µs), or a little more; 0: not known
	heard  *atomic.Int64 // when that was learnt, from base (µs)
}

func newServerClock() serverClock {
	return serverClock{base: time.Now(), offset: new(atomic.Int64), heard: new(atomic.Int64)}
}

// latest is what the server's clock shows at a local moment at the most (µs).
func (c serverClock) latest(end time.Time) int64 {
	return c.offset.Load() + end.Sub(c.base).Microseconds()
}

// when is the local moment at which the server's clock shows micros, or a little before it.
func (c serverClock) when(micros int64) time.Time {
	return c.base.Add(fromMicros(micros - c.offset.Load()))
}

func (c serverClock) learn(p clockPair) {
	c.offset.Store(p.micros - p.local.Sub(c.base).Microseconds())
	c.heard.Store(time.Since(c.base).Microseconds())
}

// fresh reports whether the server has told its time lately: then it is not silent, however long somebody has waited.
func (c serverClock) fresh() bool {
	return c.offset.Load() != 0 && time.Since(c.base)-fromMicros(c.heard.Load()) < callTime
}
