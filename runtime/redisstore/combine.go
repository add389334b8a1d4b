package redisstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// combineAlone is how many calls a combiner has in flight, each on its own, before it begins to gather them. With
	// fewer callers than that, waiting for each other costs more than what they would share.
	combineAlone = 4
	// combineLanes is how many gathered calls are in flight at a time.
	combineLanes = 2
	// combineBatch is how many leases one script works on at the most: enough to share the call's own cost, few enough
	// that other clients of the server do not notice.
	combineBatch = 32
	// combineStall is how long those who wait may be left waiting before another lane is opened for them: the calls in
	// flight may sit on dead connections.
	combineStall = 100 * time.Millisecond
	// combineTimeout bounds a gathered call, whose callers each have their own context.
	combineTimeout = 5 * time.Second
)

// combiner runs one script for concurrent callers together. As long as few calls are in flight, each goes out at once
// and in its caller's goroutine; when there are more, leases are gathered, and go out in one call when a lane is free,
// until nobody waits any more. So few callers pay nothing, and many pay for a round trip, its system calls and the
// script's own cost once.
//
// (The client's AutoPipeline has a goroutine between every caller and the connection, which a lone caller pays for, and
// still runs one script for each.)
type combiner struct {
	client  redis.UniversalClient
	script  *script
	batch   int               // how many leases one call may have: in a cluster one, as a script stays within one slot
	args    func(terms) []any // what stands before the ids
	mu      sync.Mutex        // guards what follows
	alone   int               // calls in flight that were not gathered
	lanes   int               // senders of gathered calls; at least one while anybody waits
	moved   time.Time         // when a lane last took those who waited
	waiting []*entry
}

// entry is one lease's part in a call.
type entry struct {
	keys lockKeys
	id   string
	terms
	done chan struct{} // closed when the call is over; nil for one that goes out alone

	answer any
	err    error
	unsure bool // the script may have run for it before the answer
}

// terms are the arguments that a lease has in common with others. Only leases with the same terms go into one call.
type terms struct{ ttl, liveness int64 }

// underWayError is ctx's error of a caller that left while its call was being sent. The server may still run that.
type underWayError struct {
	error
	done <-chan struct{} // closed when the call is over
}

func (e *underWayError) Unwrap() error { return e.error }

// do runs the script for e and returns when it is answered or ctx has ended. In the second case it was not sent and
// will not be, or the error is an *underWayError, or the call was e's alone; e must not be looked at.
func (c *combiner) do(ctx context.Context, e *entry) error {
	c.mu.Lock()
	if c.lanes == 0 && c.alone < combineAlone {
		c.alone++
		c.mu.Unlock()
		c.single(ctx, e)
		c.mu.Lock()
		c.alone--
		c.mu.Unlock()
		return e.err
	}
	e.done = make(chan struct{})
	c.waiting = append(c.waiting, e)
	if c.lanes < combineLanes || time.Since(c.moved) > combineStall {
		c.lanes++
		go c.send(c.take())
	}
	c.mu.Unlock()
	select {
	case <-e.done:
		return e.err
	case <-ctx.Done():
	}
	if c.withdraw(e) {
		return ctx.Err()
	}
	return &underWayError{error: ctx.Err(), done: e.done}
}

// withdraw takes back an entry that was not sent.
func (c *combiner) withdraw(e *entry) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.waiting, e)
	if i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
	}
	return i >= 0
}

// take returns those who wait; mu is held.
func (c *combiner) take() []*entry {
	batch := c.waiting
	c.waiting, c.moved = nil, time.Now()
	return batch
}

// next returns those who wait, or gives up the lane.
func (c *combiner) next() []*entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		c.lanes--
		return nil
	}
	return c.take()
}

// send uses a lane as long as somebody waits. It ends soon after the last of its callers has an answer.
func (c *combiner) send(batch []*entry) {
	for ; batch != nil; batch = c.next() {
		ctx, cancel := context.WithTimeout(context.Background(), combineTimeout)
		c.together(ctx, batch)
		cancel()
		for _, e := range batch {
			close(e.done)
		}
		// Those callers mostly come back at once for their next lease: let them, so that it goes along.
		runtime.Gosched()
	}
}

// single runs the script for one.
func (c *combiner) single(ctx context.Context, e *entry) {
	one := [...]*entry{e}
	call := c.call(one[:])
	settle(one[:], c.script.run(ctx, c.client, call.keys, call.args...))
}

// together runs the script for all, in one round trip.
func (c *combiner) together(ctx context.Context, batch []*entry) {
	parts := split(batch, c.batch)
	var failed []*entry
	for i, cmd := range c.pipeline(ctx, parts) {
		if settle(parts[i], cmd); len(parts[i]) > 1 && isReply(cmd.Err()) {
			// One lock's keys may be in the way of all, or the server is out of memory. Who was before it was served.
			failed = append(failed, parts[i]...)
		}
	}
	if len(failed) == 0 {
		return
	}
	parts = split(failed, 1)
	for i, cmd := range c.pipeline(ctx, parts) {
		failed[i].unsure = true
		settle(parts[i], cmd)
	}
}

func (c *combiner) pipeline(ctx context.Context, parts [][]*entry) []*redis.Cmd {
	calls := make([]call, len(parts))
	for i, part := range parts {
		calls[i] = c.call(part)
	}
	return c.script.pipeline(ctx, c.client, calls)
}

// split puts entries with the same terms together, up to size.
func split(batch []*entry, size int) [][]*entry {
	return group(batch, size, func(e *entry) terms { return e.terms })
}

// group puts items of the same kind together, up to size, and keeps their order.
func group[T any, K comparable](items []T, size int, kind func(T) K) (parts [][]T) {
	open := make(map[K]int) // where there is room
	for _, item := range items {
		k := kind(item)
		at, ok := open[k]
		if !ok || len(parts[at]) == size {
			at = len(parts)
			open[k] = at
			parts = append(parts, nil)
		}
		parts[at] = append(parts[at], item)
	}
	return parts
}

// call is the script's call for entries with the same terms.
func (c *combiner) call(part []*entry) call {
	args := c.args(part[0].terms)
	made := call{keys: make([]string, 4*len(part)), args: append(make([]any, 0, len(args)+len(part)), args...)}
	n := len(part)
	for i, e := range part {
		made.keys[i], made.keys[n+i] = e.keys.lock, e.keys.queue
		made.keys[2*n+i], made.keys[3*n+i] = e.keys.waiters, e.keys.floor
		made.args = append(made.args, e.id)
	}
	return made
}

// settle gives each entry its part of the answer.
func settle(part []*entry, cmd *redis.Cmd) {
	if len(part) == 1 {
		part[0].answer, part[0].err = cmd.Result()
		return
	}
	answers, err := cmd.Slice()
	if err == nil && len(answers) != len(part) {
		err = fmt.Errorf("the lock script answered %d values for %d leases", len(answers), len(part))
	}
	for i, e := range part {
		if e.err = err; err == nil {
			e.answer = answers[i]
		}
	}
}

// isReply reports whether the server itself answered with an error.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}
