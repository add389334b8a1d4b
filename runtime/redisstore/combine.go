package redisstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/runtime/internal/workers"
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
	// combineTake is how many leases go out in one round trip, so that each is answered soon.
	combineTake = 1024
)

// combiner runs one script for concurrent callers together. As long as few calls are in flight, each goes out at once
// and alone; when there are more, leases are gathered, and go out in one call when a lane is free, until nobody waits
// any more. So few callers pay nothing, and many pay for a round trip, its system calls and the script's own cost
// once.
//
// (The client's AutoPipeline has a goroutine between every caller and the connection, too, and still runs one script
// for each.)
type combiner struct {
	client redis.UniversalClient
	script *script
	batch  int                       // how many leases one call may have; in a cluster one: a script stays within one slot
	args   func(terms, int64) []any  // what stands before the ids; the second is the call's latest
	latest func(end time.Time) int64 // what the server's clock shows then, at the most
	calls  *calls
	quick  *quick       // nil: no call is made in its caller's goroutine
	over   func(*entry) // called when a call is over whose caller has left; may be nil

	inFlight sync.WaitGroup // calls

	mu       sync.Mutex // guards what follows
	alone    int        // calls in flight that were not gathered
	lanes    int        // senders of gathered calls; at least one while anybody waits
	moved    time.Time  // when a lane last took those who waited
	answered time.Time  // when a call last had an answer
	waiting  []*entry
}

// entry is one lease's part in a call.
type entry struct {
	keys lockKeys
	id   string
	terms
	done chan struct{} // closed when the call is over; nil for one that goes out alone
	gone bool          // its caller has left; if it was not sent it will not be; guarded by combiner.mu

	// Set when the call is made, under combiner.mu where it is gathered.
	sent   time.Time // not after the request is sent; zero: not yet
	latest int64     // until when, on the server's clock, the request may act (µs)

	answer any
	err    error
	unsure bool // the script may have run for it before the answer
}

// terms are the arguments that a lease has in common with others. Only leases with the same terms go into one call.
type terms struct{ ttl, liveness int64 }

// underWayError is why a caller left while its call was being sent. The server may still run that, until latest.
type underWayError struct {
	error
	latest int64
}

func (e *underWayError) Unwrap() error { return e.error }

// do runs the script for e and returns when it is answered, or ctx ends, or limit does. After an *underWayError e must
// not be looked at; after another error of ctx or of limit it was not sent and will not be.
func (c *combiner) do(ctx, limit context.Context, e *entry) error {
	c.mu.Lock()
	if c.lanes == 0 && c.alone < combineAlone {
		c.alone++
		c.mu.Unlock()
		if c.quick.use() {
			return c.doQuick(ctx, e)
		}
		return c.doAlone(ctx, limit, e)
	}
	e.done = make(chan struct{})
	c.waiting = append(c.waiting, e)
	if c.lanes < combineLanes || time.Since(c.moved) > combineStall {
		c.lanes++
		c.inFlight.Add(1)
		batch := c.take()
		c.calls.Start(func() { c.send(batch) })
	}
	c.mu.Unlock()
	for over := func() {}; ; {
		err := workers.Await(ctx, limit, e.done)
		over()
		if err == nil {
			return e.err
		}
		more, latest := c.leave(e, ctx.Err() == nil && errors.Is(err, errNoAnswer))
		switch {
		case more > 0:
			limit, over = c.calls.limits.more(more)
		case latest != 0:
			return &underWayError{error: err, latest: latest}
		default:
			return err
		}
	}
}

// doQuick sends e in a call of its own, from this goroutine. The error is errSlow if it is to be sent again.
func (c *combiner) doQuick(ctx context.Context, e *entry) error {
	c.inFlight.Add(1)
	defer c.inFlight.Done()
	limit := c.quick.limits.Next()
	call := callContext(ctx, limit)
	end, _ := call.Deadline()
	e.sent, e.latest = time.Now(), c.latest(end)
	c.single(call, e)
	c.mu.Lock()
	c.alone--
	if e.err == nil || isReply(e.err) {
		c.answered = time.Now()
	}
	c.mu.Unlock()
	if isTimeout(e.err) && ctx.Err() == nil && ended(ctx, e.err) == nil {
		c.quick.pause()
		return slowError{e.err}
	}
	return e.err
}

// doAlone sends e in a call of its own.
func (c *combiner) doAlone(ctx, limit context.Context, e *entry) error {
	call := callContext(ctx, limit)
	end, _ := call.Deadline()
	latest := c.latest(end)
	e.sent, e.latest = time.Now(), latest
	done := make(chan struct{})
	c.inFlight.Add(1)
	c.calls.Start(func() {
		c.single(call, e)
		c.mu.Lock()
		c.alone--
		if e.err == nil || isReply(e.err) {
			c.answered = time.Now()
		}
		gone := e.gone
		c.mu.Unlock()
		if gone && c.over != nil {
			c.over(e)
		}
		c.inFlight.Done()
		close(done)
	})
	if err := workers.Await(ctx, limit, done); err != nil {
		c.mu.Lock()
		e.gone = true
		c.mu.Unlock()
		return &underWayError{error: err, latest: latest}
	}
	return e.err
}

// leave takes back an entry that was not sent, or says until when it may act. One that may stay, because only our own
// limit is over, gets more time if it is not the server that is silent: as long as it has answered others within
// callTime, there are only many before this one.
func (c *combiner) leave(e *entry, mayStay bool) (more time.Duration, latest int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := callTime - time.Since(c.answered); mayStay && left > 0 {
		return left, 0
	}
	e.gone = true
	return 0, e.latest
}

// take returns those who wait; mu is held.
func (c *combiner) take() []*entry {
	now := time.Now()
	latest := c.latest(now.Add(callTime))
	var batch []*entry
	at := 0
	for ; at < len(c.waiting) && len(batch) < combineTake; at++ {
		if e := c.waiting[at]; !e.gone {
			e.sent, e.latest = now, latest
			batch = append(batch, e)
		}
	}
	if c.waiting = c.waiting[at:]; len(c.waiting) == 0 {
		c.waiting = nil
	}
	c.moved = now
	return batch
}

// next returns those who wait, or gives up the lane.
func (c *combiner) next() []*entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.waiting) > 0 {
		if batch := c.take(); len(batch) > 0 {
			return batch
		}
	}
	c.lanes--
	return nil
}

// send uses a lane as long as somebody waits. It ends soon after the last of its callers has an answer.
func (c *combiner) send(batch []*entry) {
	defer c.inFlight.Done()
	for ; batch != nil; batch = c.next() {
		ctx, cancel := context.WithTimeout(context.Background(), callTime)
		answered := c.together(ctx, batch)
		cancel()
		c.settled(batch, answered)
		// Those callers mostly come back at once for their next lease: let them, so that it goes along.
		runtime.Gosched()
	}
}

// settled tells the callers, those too who have left.
func (c *combiner) settled(batch []*entry, answered bool) {
	var gone []*entry
	c.mu.Lock()
	if answered {
		c.answered = time.Now()
	}
	for _, e := range batch {
		if e.gone {
			gone = append(gone, e)
		}
		close(e.done)
	}
	c.mu.Unlock()
	for _, e := range gone {
		if c.over != nil {
			c.over(e)
		}
	}
}

// single runs the script for one.
func (c *combiner) single(ctx context.Context, e *entry) {
	one := [...]*entry{e}
	call := c.call(one[:])
	settle(one[:], c.script.Run(ctx, c.client, call.Keys, call.Args...))
}

// together runs the script for all, in one round trip. It reports whether the server answered.
func (c *combiner) together(ctx context.Context, batch []*entry) (answered bool) {
	parts := split(batch, c.batch)
	var failed []*entry
	for i, cmd := range c.pipeline(ctx, parts) {
		answered = answered || cmd.Err() == nil || isReply(cmd.Err())
		if settle(parts[i], cmd); len(parts[i]) > 1 && isReply(cmd.Err()) {
			// One lock's keys may be in the way of all, or the server is out of memory. Who was before it was served.
			failed = append(failed, parts[i]...)
		}
	}
	if len(failed) == 0 {
		return answered
	}
	parts = split(failed, 1)
	for i, cmd := range c.pipeline(ctx, parts) {
		failed[i].unsure = true
		settle(parts[i], cmd)
	}
	return answered
}

func (c *combiner) pipeline(ctx context.Context, parts [][]*entry) []*redis.Cmd {
	calls := make([]call, len(parts))
	for i, part := range parts {
		calls[i] = c.call(part)
	}
	return c.script.RunAll(ctx, c.client, calls)
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
	args := c.args(part[0].terms, part[0].latest)
	made := call{Keys: make([]string, 4*len(part)), Args: append(make([]any, 0, len(args)+len(part)), args...)}
	n := len(part)
	for i, e := range part {
		made.Keys[i], made.Keys[n+i] = e.keys.lock, e.keys.queue
		made.Keys[2*n+i], made.Keys[3*n+i] = e.keys.waiters, e.keys.floor
		made.Args = append(made.Args, e.id)
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
	if err == nil {
		return false // errors.As would allocate
	}
	var reply redis.Error
	return errors.As(err, &reply)
}
