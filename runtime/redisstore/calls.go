package redisstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// callTime bounds every call to the server whose caller has no nearer end.
const callTime = 5 * time.Second

var errNoAnswer = errors.New("the store did not answer within " + callTime.String())

// calls runs client calls on goroutines of their own, so that a caller can leave when its context ends: the client
// heeds deadlines, if it is told to, and cancellation only while it waits for a connection. A goroutine whose call is
// over waits for the next one, so that a call starts none as a rule.
type calls struct {
	limits *limits

	mu      sync.Mutex      // guards what follows
	parked  []chan<- func() // goroutines without work, the last one first
	closed  bool
	running sync.WaitGroup // Add only while not closed
}

// parkedCalls is how many goroutines wait for work at the most.
const parkedCalls = 64

func newCalls() *calls { return &calls{limits: newLimits()} }

// start runs f. After close the goroutine is nobody's; it ends with f.
func (c *calls) start(f func()) {
	c.mu.Lock()
	if last := len(c.parked) - 1; last >= 0 {
		worker := c.parked[last]
		c.parked = c.parked[:last]
		c.mu.Unlock()
		worker <- f
		return
	}
	if c.closed {
		c.mu.Unlock()
		go f()
		return
	}
	c.running.Add(1)
	c.mu.Unlock()
	go c.work(f)
}

func (c *calls) work(f func()) {
	defer c.running.Done()
	next := make(chan func(), 1) // start does not wait for this goroutine to be scheduled
	for ok := true; ok; f, ok = <-next {
		f()
		if !c.park(next) {
			return
		}
	}
}

func (c *calls) park(next chan<- func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.parked) == parkedCalls {
		return false
	}
	c.parked = append(c.parked, next)
	return true
}

// close ends the parked goroutines, and waits for those that are in a call, until then at the most: a call that has no
// answer ends after callTime by itself.
func (c *calls) close(until time.Time) {
	c.mu.Lock()
	c.closed = true
	for _, worker := range c.parked {
		close(worker)
	}
	c.parked = nil
	c.mu.Unlock()
	over := make(chan struct{})
	go func() {
		c.running.Wait()
		close(over)
	}()
	patience := time.NewTimer(time.Until(until))
	defer patience.Stop()
	select {
	case <-over:
	case <-patience.C:
	}
}

// await waits until done is closed, and says why it waits no longer.
func await(ctx, limit context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	case <-limit.Done():
	}
	select {
	case <-done: // in the same moment
		return nil
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.Cause(limit)
}

// run runs a script once, for as long as ctx lasts.
func (c *calls) run(
	ctx context.Context, client redis.UniversalClient, s *script, keys []string, args ...any,
) *redis.Cmd {
	return c.pipeline(ctx, client, s, []call{{keys: keys, args: args}})[0]
}

// pipeline runs a script for many sets of keys and arguments in one round trip, for as long as ctx lasts.
func (c *calls) pipeline(ctx context.Context, client redis.UniversalClient, s *script, all []call) []*redis.Cmd {
	if len(all) == 0 {
		return nil
	}
	var cmds []*redis.Cmd
	done := make(chan struct{})
	c.start(func() {
		defer close(done)
		if len(all) == 1 {
			cmds = []*redis.Cmd{s.run(ctx, client, all[0].keys, all[0].args...)}
		} else {
			cmds = s.pipeline(ctx, client, all)
		}
	})
	if err := await(ctx, ctx, done); err != nil {
		unanswered := make([]*redis.Cmd, len(all))
		for i := range unanswered {
			unanswered[i] = redis.NewCmd(ctx)
			unanswered[i].SetErr(err)
		}
		return unanswered
	}
	return cmds
}

// do runs f, for as long as ctx lasts. After an error f may still run: what it uses belongs to it.
func (c *calls) do(ctx context.Context, f func() error) error {
	var err error
	done := make(chan struct{})
	c.start(func() {
		defer close(done)
		err = f()
	})
	if left := await(ctx, ctx, done); left != nil {
		return left
	}
	return err
}
