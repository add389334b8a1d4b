package redisstore

import (
	"context"
	"sync/atomic"
	"time"
)

// clockPair ties the two clocks: the local moment is not after the moment at which the server's clock showed micros,
// because it was read before the request was sent.
type clockPair struct {
	local  time.Time
	micros int64
}

// at returns a local moment that is not after the one at which the server's clock showed micros.
func (c clockPair) at(micros int64) time.Time {
	return c.local.Add(time.Duration(micros-c.micros) * time.Microsecond)
}

// serverClock says what a server's clock shows at the most, by the pair of the last answer. It is good for requests
// to refuse themselves, not for leases: those use the pair of their own request. If answers of two servers come in turns
// whose clocks differ, some requests refuse themselves too early, and are repeated.
type serverClock struct {
	base   time.Time     // a moment of this process's monotonic clock
	offset atomic.Int64  // what the server's clock shows at base (µs), or a little more; 0: not known
	asking chan struct{} // has an element while somebody asks
}

func newServerClock() serverClock {
	return serverClock{base: time.Now(), asking: make(chan struct{}, 1)}
}

// latest is what the server's clock shows at a local moment at the most (µs).
func (c *serverClock) latest(end time.Time) int64 {
	return c.offset.Load() + end.Sub(c.base).Microseconds()
}

// when is the local moment at which the server's clock shows micros, or a little before it.
func (c *serverClock) when(micros int64) time.Time {
	return c.base.Add(time.Duration(micros-c.offset.Load()) * time.Microsecond)
}

func (c *serverClock) learn(p clockPair) {
	c.offset.Store(p.micros - p.local.Sub(c.base).Microseconds())
}

// forget is for a connection to what may be another server.
func (c *serverClock) forget() { c.offset.Store(0) }

// known asks the server for its time, if no answer has told that yet. Others wait for the one that asks.
func (c *serverClock) known(
	ctx, limit context.Context, calls *calls, ask func(context.Context) (time.Time, error),
) error {
	if c.offset.Load() != 0 {
		return nil
	}
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.Done():
		return context.Cause(limit)
	}
	if c.offset.Load() != 0 {
		return nil
	}
	var (
		sent  = time.Now()
		shown time.Time
		err   error
		done  = make(chan struct{})
		call  = callContext(ctx, limit)
	)
	calls.start(func() {
		defer close(done)
		shown, err = ask(call)
	})
	if left := await(ctx, limit, done); left != nil {
		return left
	}
	if err == nil {
		c.learn(clockPair{local: sent, micros: shown.UnixMicro()})
	}
	return err
}
