package redisstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// combineLanes is how many calls a combiner has in flight before it begins to gather them.
	combineLanes = 2
	// combineStall is how long no lane may have come free before another is opened: the calls in flight may sit on dead
	// connections.
	combineStall = 100 * time.Millisecond
	// combineTimeout bounds a gathered call, whose callers each have their own context.
	combineTimeout = 5 * time.Second
)

// combiner sends the commands of concurrent callers together. As long as few are in flight, each goes out at once and in
// its caller's goroutine; those that come meanwhile are gathered, and go out in one pipeline when a lane is free. So a
// lone caller pays nothing, and many pay for a round trip and its system calls once.
//
// (The client's AutoPipeline has a goroutine between every caller and the connection, which a lone caller pays for.)
type combiner struct {
	client redis.UniversalClient
	wrap   func(*redis.Cmd) redis.Cmder // what is sent for a command: itself, or one that is not to be repeated

	mu       sync.Mutex // guards what follows
	inFlight int
	moved    time.Time // when a lane was last taken or came free
	waiting  []combined
}

// combined is a command that waits for a lane.
type combined struct {
	cmd  *redis.Cmd
	done chan struct{}
}

// underWayError is ctx's error of a caller that left while its command was being sent. The server may still run that.
type underWayError struct {
	error
	done <-chan struct{} // closed when the command is over
}

func (e *underWayError) Unwrap() error { return e.error }

// do sends cmd and returns when it is answered or ctx has ended. In the second case it was not sent and will not be,
// or the error is an *underWayError; cmd must not be looked at.
func (c *combiner) do(ctx context.Context, cmd *redis.Cmd) error {
	c.mu.Lock()
	if now := time.Now(); c.inFlight < combineLanes || now.Sub(c.moved) > combineStall {
		c.inFlight++
		c.moved = now
		c.mu.Unlock()
		err := c.client.Process(ctx, c.wrap(cmd))
		c.free()
		return err
	}
	me := combined{cmd: cmd, done: make(chan struct{})}
	c.waiting = append(c.waiting, me)
	c.mu.Unlock()
	select {
	case <-me.done:
		return cmd.Err()
	case <-ctx.Done():
	}
	if c.withdraw(me) {
		return ctx.Err()
	}
	return &underWayError{error: ctx.Err(), done: me.done}
}

// withdraw takes a command back that was not sent.
func (c *combiner) withdraw(me combined) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.waiting, me)
	if i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
	}
	return i >= 0
}

// free gives a lane to those who wait, in a goroutine of its own: the caller's answer is there.
func (c *combiner) free() {
	if batch := c.next(); batch != nil {
		go c.send(batch)
	}
}

// next returns those who wait, or gives up the lane.
func (c *combiner) next() []combined {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch := c.waiting
	c.waiting = nil
	c.moved = time.Now()
	if len(batch) == 0 {
		c.inFlight--
		return nil
	}
	return batch
}

// send uses a lane as long as somebody waits. It ends soon after the last of its callers has an answer.
func (c *combiner) send(batch []combined) {
	for ; batch != nil; batch = c.next() {
		ctx, cancel := context.WithTimeout(context.Background(), combineTimeout)
		pipe := c.client.Pipeline()
		for _, b := range batch {
			_ = pipe.Process(ctx, c.wrap(b.cmd)) // only queues
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
		cancel()
		for _, b := range batch {
			close(b.done)
		}
	}
}
