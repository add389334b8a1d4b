package sqlstore

import (
	"context"
	"runtime"
	"sync"
)

const (
	// combineAlone is how many statements a combiner has under way, each for one lease, before it begins to gather
	// them.
	combineAlone = 4
	// combineLanes is how many gathered statements are under way at a time.
	combineLanes = 2
	// combineBatch is how many leases one statement works on at the most.
	combineBatch = 32
)

// combiner runs one kind of statement for concurrent callers together. As long as few are under way, each goes out at
// once and alone; when there are more, leases are gathered and go out in one statement when a lane is free. So few
// callers pay nothing, and many share a round trip, a commit and its flush.
type combiner struct {
	run    func(ctx context.Context, batch []*entry)
	start  func(func()) // runs it on a goroutine
	latest func() int64 // until when a gathered statement may act

	mu      sync.Mutex // guards what follows
	alone   int        // statements under way that were not gathered
	lanes   int        // at least one while anybody waits
	waiting []*entry
}

// entry is one lease's part in a statement.
type entry struct {
	id, key string
	name    []byte
	ttl     int64
	latest  int64 // until when it may act, on the server's clock; of the batch, once that is made

	done chan struct{}
	gone bool // its caller has left; guarded by combiner.mu
	answer
	ok  bool // it was done; otherwise it is to be asked for alone
	err error
}

// do runs the statement for p. latest is until when it may act, if there was no answer.
func (c *combiner) do(ctx context.Context, p *entry) (a answer, latest int64, err error) {
	p.done = make(chan struct{})
	c.mu.Lock()
	if c.lanes == 0 && c.alone < combineAlone {
		c.alone++
		c.mu.Unlock()
		c.run(ctx, []*entry{p})
		c.mu.Lock()
		c.alone--
		c.mu.Unlock()
		return p.answer, p.latest, p.err
	}
	c.waiting = append(c.waiting, p)
	if c.lanes < combineLanes {
		c.lanes++
		c.start(c.lane)
	}
	c.mu.Unlock()
	select {
	case <-p.done:
		return p.answer, p.latest, p.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.gone = true
	return answer{}, p.latest, ctx.Err()
}

// lane sends what is gathered, until nobody waits any more.
func (c *combiner) lane() {
	for {
		c.mu.Lock()
		batch := c.take()
		if len(batch) == 0 {
			c.lanes--
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), callTime)
		c.run(ctx, batch)
		cancel()
		for _, e := range batch {
			close(e.done)
		}
		// Those callers mostly come back at once for their next lease: let them, so that it goes along.
		runtime.Gosched()
	}
}

// take returns the next batch, with each lock once at the most: a statement would meet its own change. Who comes second
// is to ask for itself. mu is held.
func (c *combiner) take() []*entry {
	var batch, rest []*entry
	names, latest := make(map[string]bool), c.latest()
	for _, e := range c.waiting {
		switch {
		case e.gone:
		case names[string(e.name)]:
			close(e.done)
		case len(batch) == combineBatch:
			rest = append(rest, e)
		default:
			names[string(e.name)] = true
			e.latest = latest
			batch = append(batch, e)
		}
	}
	c.waiting = rest
	return batch
}
