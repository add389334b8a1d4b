package jobs

import (
	"context"
	"sync"
)

const (
	gatherLanes = 1    // calls of one kind in flight before others are gathered
	gatherSize  = 2048 // elements of one call: it is cut into scripts for all the shards
)

// gatherer sends the elements of concurrent callers together. As long as few calls are in flight, each element goes out
// at once and in its caller's goroutine; those that come meanwhile are gathered, and go out in one call when a lane is
// free. So a lone run pays nothing for it, and when thousands begin in the same second they share round trips.
type gatherer[T any] struct {
	send func(context.Context, []T) []error

	mu       sync.Mutex // guards what follows
	inFlight int
	waiting  []*gathered[T]
}

// gathered is an element that waits for a lane.
type gathered[T any] struct {
	element T
	answer  chan error // has room for it
	left    bool       // its caller has gone, it need not be sent; guarded by gatherer.mu
}

func newGatherer[T any](send func(context.Context, []T) []error) *gatherer[T] {
	return &gatherer[T]{send: send}
}

// do sends one element and returns its answer, or an error if the store has not answered within storeTimeout of the
// call that it went out with, or ctx has ended. After an error it may have reached the store, and may still do so.
func (g *gatherer[T]) do(ctx context.Context, element T) error {
	g.mu.Lock()
	if g.inFlight < gatherLanes {
		g.inFlight++
		g.mu.Unlock()
		sendCtx, cancel := context.WithTimeout(ctx, storeTimeout)
		err := g.send(sendCtx, []T{element})[0]
		cancel()
		if batch := g.next(); len(batch) > 0 {
			go g.drive(batch) // the caller has its answer
		}
		return err
	}
	me := &gathered[T]{element: element, answer: make(chan error, 1)}
	g.waiting = append(g.waiting, me)
	g.mu.Unlock()
	select {
	case err := <-me.answer:
		return err
	case <-ctx.Done():
		g.mu.Lock()
		me.left = true
		g.mu.Unlock()
		return ctx.Err()
	}
}

// drive uses a lane as long as somebody waits. It ends soon after the last of its callers has an answer.
func (g *gatherer[T]) drive(batch []*gathered[T]) {
	for ; len(batch) > 0; batch = g.next() {
		elements := make([]T, len(batch))
		for i, b := range batch {
			elements[i] = b.element
		}
		ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
		for i, err := range g.send(ctx, elements) {
			batch[i].answer <- err
		}
		cancel()
	}
}

// next returns those who wait, or gives up the lane.
func (g *gatherer[T]) next() []*gathered[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	var batch []*gathered[T]
	for len(g.waiting) > 0 && len(batch) < gatherSize {
		if first := g.waiting[0]; !first.left {
			batch = append(batch, first)
		}
		g.waiting = g.waiting[1:]
	}
	if len(batch) == 0 {
		g.waiting = nil
		g.inFlight--
	}
	return batch
}
