// Package combine decides which of many concurrent requests go out alone and which go out together.
package combine

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// Ticket is where a request stands. What is sent embeds it.
type Ticket struct {
	done chan struct{} // closed when its batch is over; nil for one that goes out alone
	gone bool          // its caller has left; guarded by Combiner.mu, as what follows
	sent bool          // see Combiner.Going
}

func (t *Ticket) ticket() *Ticket { return t }

// Gathered reports whether a request that is being sent has waited for a lane.
func (t *Ticket) Gathered() bool { return t.done != nil }

// Entry is a request: a pointer to a struct that embeds [Ticket].
type Entry interface{ ticket() *Ticket }

// Combiner sends the requests of concurrent callers. As long as few are in flight, each goes out at once and alone. When
// there are more, requests are gathered, and go out in one batch when a lane is free, until nobody waits any more. So few
// callers pay nothing, and many share what a call costs.
//
// The exported fields must not change after the first use.
type Combiner[E Entry] struct {
	Alone int           // how many requests are in flight alone before others are gathered
	Lanes int           // how many batches are in flight at a time
	Most  int           // how many requests a batch has at the most
	Stall time.Duration // how long lanes may leave requests waiting before one more is opened; 0: for as long as it takes
	Time  time.Duration // what Send gets for a batch

	Late func() time.Duration // how late answers are, called with the lock held: lanes may take as long; may be nil

	Start func(func())                                         // runs a lane on a goroutine
	Send  func(ctx context.Context, batch []E) (answered bool) // the batch has at least one request
	Taken func(batch []E)                                      // called before Send, with the lock held; may be nil
	Left  func(E)                                              // called after Send for a request whose caller has left; may be nil

	inFlight sync.WaitGroup // requests alone, and lanes

	mu       sync.Mutex // guards what follows
	alone    int        // requests in flight that were not gathered
	lanes    int        // at least one while anybody waits
	moved    time.Time  // when a lane last took those who waited
	answered time.Time  // when Send last had an answer
	waiting  []E
}

// Do sends e and returns nil when Send is over. If ctx ends before, Do returns its error, and e must not be looked at: it
// may still be sent if it was on its way.
func (c *Combiner[E]) Do(ctx context.Context, e E) error {
	if c.Enter() {
		answered := false
		defer func() { c.Exit(e, answered) }() // also if a method of the caller's context panics
		answered = c.Send(ctx, []E{e})
		return nil
	}
	done := c.Join(e)
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		c.Leave(e, 0)
		return ctx.Err()
	}
}

// Enter reports whether a request may go out alone. If so, the caller sends it and then calls Exit. Otherwise it calls
// Join.
func (c *Combiner[E]) Enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lanes > 0 || c.alone >= c.Alone {
		return false
	}
	c.alone++
	c.inFlight.Add(1)
	return true
}

// Exit says that a request is over that went out alone.
func (c *Combiner[E]) Exit(e E, answered bool) {
	defer c.inFlight.Done()
	c.mu.Lock()
	c.alone--
	if answered {
		c.answered = time.Now()
	}
	gone := e.ticket().gone
	c.mu.Unlock()
	if gone && c.Left != nil {
		c.Left(e)
	}
}

// Join lets e wait for a lane. The channel is closed when Send is over for it.
func (c *Combiner[E]) Join(e E) <-chan struct{} {
	done := make(chan struct{})
	e.ticket().done = done
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, e)
	if c.lanes < c.Lanes || c.stalled() {
		c.lanes++
		c.inFlight.Add(1)
		batch := c.take()
		c.Start(func() { c.lane(batch) })
	}
	return done
}

// Leave says that nobody waits for e any more. If it was not sent yet it will not be. If there was an answer within
// the last patience, e is only one of many: Leave does nothing then and returns how much of patience is left.
func (c *Combiner[E]) Leave(e E, patience time.Duration) (left time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := patience - time.Since(c.answered); patience > 0 && left > 0 {
		return left
	}
	e.ticket().gone = true
	return 0
}

// Going is for a Send that has to wait before a batch may go. It returns those whose callers have not left meanwhile: only
// these are to be sent.
func (c *Combiner[E]) Going(batch []E) (sent []E) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range batch {
		if t := e.ticket(); !t.gone {
			t.sent = true
			sent = append(sent, e)
		}
	}
	return sent
}

// Sent reports, after an error of Do, whether e was among those that Going returned. If not it never will be.
func (c *Combiner[E]) Sent(e E) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return e.ticket().sent
}

// Wait waits until nothing is in flight. Nothing may be sent meanwhile.
func (c *Combiner[E]) Wait() { c.inFlight.Wait() }

// stalled reports whether those who wait have waited for too long; mu is held.
func (c *Combiner[E]) stalled() bool {
	waited := time.Since(c.moved)
	return c.Stall > 0 && waited > c.Stall && (c.Late == nil || waited > c.Late())
}

// State is what a combiner does in one moment.
type State struct {
	InFlight int  // requests alone, and lanes
	Waiting  int  // requests whose callers have not left
	Stalled  bool // the next request that waits opens one more lane
}

// State tells tests what happens.
func (c *Combiner[E]) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := State{InFlight: c.alone + c.lanes, Stalled: c.stalled()}
	for _, e := range c.waiting {
		if !e.ticket().gone {
			s.Waiting++
		}
	}
	return s
}

// Move makes the lanes look as if they moved just now. Tests use it, so that a slow machine does not break them.
func (c *Combiner[E]) Move() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved = time.Now()
}

// take returns the next batch; mu is held.
func (c *Combiner[E]) take() []E {
	var batch []E
	at := 0
	for ; at < len(c.waiting) && len(batch) < c.Most; at++ {
		if e := c.waiting[at]; !e.ticket().gone {
			batch = append(batch, e)
		}
	}
	if c.waiting = c.waiting[at:]; len(c.waiting) == 0 {
		c.waiting = nil
	}
	if c.Taken != nil && len(batch) > 0 {
		c.Taken(batch)
	}
	c.moved = time.Now()
	return batch
}

// next returns the next batch, or gives up the lane.
func (c *Combiner[E]) next() []E {
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

// lane sends batches as long as somebody waits. It ends soon after the last of its callers has an answer.
func (c *Combiner[E]) lane(batch []E) {
	defer c.inFlight.Done()
	for ; len(batch) > 0; batch = c.next() {
		ctx, cancel := context.WithTimeout(context.Background(), c.Time)
		answered := c.Send(ctx, batch)
		cancel()
		c.settled(batch, answered)
		// Those callers mostly come back at once for their next request: let them, so that it goes along.
		runtime.Gosched()
	}
}

// settled tells the callers, those too who have left.
func (c *Combiner[E]) settled(batch []E, answered bool) {
	var gone []E
	c.mu.Lock()
	if answered {
		c.answered = time.Now()
	}
	for _, e := range batch {
		t := e.ticket()
		if t.gone {
			gone = append(gone, e)
		}
		close(t.done)
	}
	c.mu.Unlock()
	for _, e := range gone {
		if c.Left != nil {
			c.Left(e)
		}
	}
}
