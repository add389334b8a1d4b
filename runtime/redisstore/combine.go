package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/combine"
	"github.com/lockgen/lockgen/runtime/internal/workers"
)

const (
	// combineAlone is how many calls of one lease each are in flight before a combiner begins to gather. For fewer
	// callers waiting for each other costs more than a shared call saves.
	combineAlone = 4
	// combineLanes is how many gathered calls are in flight at a time.
	combineLanes = 2
	// combineBatch bounds the leases of one script call. It is large enough to share the cost of the call, and small
	// enough not to delay other clients of the server.
	combineBatch = 32
	// combineStall is how long callers wait before another lane opens for them, because the calls in flight may be on
	// dead connections.
	combineStall = 100 * time.Millisecond
	// combineTake bounds the leases of one round trip, so that none waits long for its answer.
	combineTake = 1024
)

// combiner runs one script for concurrent callers together.
//
// (The client's AutoPipeline has a goroutine between every caller and the connection, too, and still runs one script
// for each.)
type combiner struct {
	combine.Combiner[*item]
	client redis.UniversalClient
	script *script
	batch  int                       // the most leases of one call; 1 in a cluster, where a script stays within one slot
	all    bool                      // the script takes all keys of a lock; batch is 1
	kinds  bool                      // the script takes lockKeys.kind after the id
	args   func(terms, int64) []any  // the arguments before the ids; the int64 is the call's latest
	latest func(end time.Time) int64 // an upper bound of the server's clock at end
	calls  *calls
	quick  *quick // nil if no call may run in its caller's goroutine
}

// init sets what all combiners have in common.
func (c *combiner) init() *combiner {
	c.Alone, c.Lanes, c.Most, c.Stall, c.Time = combineAlone, combineLanes, combineTake, combineStall, callTime
	c.Start, c.Send = c.calls.Start, c.together
	c.Taken = func(batch []*item) {
		now := time.Now()
		latest := c.latest(now.Add(callTime))
		for _, e := range batch {
			e.sent, e.latest = now, latest
		}
	}
	return c
}

// item is one lease's part in a call.
type item struct {
	combine.Ticket
	keys lockKeys
	id   string
	terms

	// Set when the call is made; for a gathered call by Taken.
	sent   time.Time // a moment before the request is sent; zero if it is not sent yet
	latest int64     // the last moment of the server's clock at which the request may act (µs)

	answer any
	err    error
	unsure bool // a call that failed before may have acted for it
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
//
// A caller whose limit is over goes on waiting as long as the server has answered others within callTime: then there
// are only many before it.
func (c *combiner) do(ctx, limit context.Context, e *item) error {
	if c.Enter() {
		if c.quick.use() {
			return c.doQuick(ctx, e)
		}
		return c.doAlone(ctx, limit, e)
	}
	done := c.Join(e)
	for over := func() {}; ; {
		err := workers.Await(ctx, limit, done)
		over()
		if err == nil {
			return e.err
		}
		patience := time.Duration(0)
		if ctx.Err() == nil && errors.Is(err, errNoAnswer) {
			patience = callTime
		}
		more := c.Leave(e, patience)
		switch {
		case more > 0:
			limit, over = c.calls.limits.more(more)
		case e.latest != 0:
			return &underWayError{error: err, latest: e.latest}
		default:
			return err
		}
	}
}

// doQuick sends e in a call of its own, from this goroutine. The error is errSlow if it is to be sent again.
func (c *combiner) doQuick(ctx context.Context, e *item) error {
	call := callContext(ctx, c.quick.limits.Next())
	end, _ := call.Deadline()
	e.sent, e.latest = time.Now(), c.latest(end)
	c.single(call, e)
	c.Exit(e, e.answered())
	if isTimeout(e.err) && ctx.Err() == nil && ended(ctx, e.err) == nil {
		c.quick.pause()
		return slowError{e.err}
	}
	return e.err
}

// doAlone sends e in a call of its own.
func (c *combiner) doAlone(ctx, limit context.Context, e *item) error {
	call := callContext(ctx, limit)
	end, _ := call.Deadline()
	latest := c.latest(end)
	e.sent, e.latest = time.Now(), latest
	done := make(chan struct{})
	c.calls.Start(func() {
		c.single(call, e)
		c.Exit(e, e.answered())
		close(done)
	})
	if err := workers.Await(ctx, limit, done); err != nil {
		c.Leave(e, 0)
		return &underWayError{error: err, latest: latest}
	}
	return e.err
}

// answered reports whether the server has answered.
func (e *item) answered() bool { return e.err == nil || isReply(e.err) }

// single runs the script for one.
func (c *combiner) single(ctx context.Context, e *item) {
	one := [...]*item{e}
	call := c.call(one[:])
	settle(one[:], c.script.Run(ctx, c.client, call.Keys, call.Args...))
}

// together runs the script for all, in one round trip. It reports whether the server answered.
func (c *combiner) together(ctx context.Context, batch []*item) (answered bool) {
	parts := split(batch, c.batch)
	var failed []*item
	for i, cmd := range c.pipeline(ctx, parts) {
		answered = answered || cmd.Err() == nil || isReply(cmd.Err())
		if settle(parts[i], cmd); len(parts[i]) > 1 && isReply(cmd.Err()) {
			// The keys of one lock may make the whole call fail, or the server is out of memory. The leases before the
			// failure were served.
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

func (c *combiner) pipeline(ctx context.Context, parts [][]*item) []*redis.Cmd {
	calls := make([]call, len(parts))
	for i, part := range parts {
		calls[i] = c.call(part)
	}
	return c.script.RunAll(ctx, c.client, calls)
}

// split puts items with the same terms together, up to size.
func split(batch []*item, size int) [][]*item {
	return group(batch, size, func(e *item) terms { return e.terms })
}

// group puts items of the same kind together, up to size, and keeps their order.
func group[T any, K comparable](items []T, size int, kind func(T) K) (parts [][]T) {
	open := make(map[K]int) // the part that still has room
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

// call is the script's call for items with the same terms.
func (c *combiner) call(part []*item) call {
	args := c.args(part[0].terms, part[0].latest)
	if c.all {
		e := part[0]
		made := call{Keys: e.keys.all(), Args: append(make([]any, 0, len(args)+2), args...)}
		if made.Args = append(made.Args, e.id); c.kinds {
			made.Args = append(made.Args, e.keys.kind)
		}
		return made
	}
	made := call{Keys: make([]string, 4*len(part)), Args: append(make([]any, 0, len(args)+len(part)), args...)}
	n := len(part)
	for i, e := range part {
		made.Keys[i], made.Keys[n+i] = e.keys.lock, e.keys.queue
		made.Keys[2*n+i], made.Keys[3*n+i] = e.keys.waiters, e.keys.floor
		made.Args = append(made.Args, e.id)
	}
	return made
}

// settle gives each item its part of the answer.
func settle(part []*item, cmd *redis.Cmd) {
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
		return false // without this errors.As allocates on every call
	}
	var reply redis.Error
	return errors.As(err, &reply)
}
