// Package workers runs a store's calls to its server on goroutines of their own, so that a caller can leave when its
// context ends: clients heed deadlines at best, and few heed cancellation.
package workers

import (
	"context"
	"sync"
	"time"
)

// most is how many goroutines wait for work at the most.
const most = 64

// Pool has the goroutines of one session. A goroutine whose work is done waits for more, so a call usually starts none.
// The zero value is ready for use.
type Pool struct {
	mu      sync.Mutex      // guards what follows
	idle    []chan<- func() // goroutines without work, the last one first
	closed  bool
	running sync.WaitGroup // Add only while not closed
}

// Start runs f and does not wait for it. After Close nothing waits for the goroutine; it ends with f.
func (p *Pool) Start(f func()) {
	p.mu.Lock()
	if last := len(p.idle) - 1; last >= 0 {
		worker := p.idle[last]
		p.idle = p.idle[:last]
		p.mu.Unlock()
		worker <- f
		return
	}
	if p.closed {
		p.mu.Unlock()
		go f()
		return
	}
	p.running.Add(1)
	p.mu.Unlock()
	go p.work(f)
}

func (p *Pool) work(f func()) {
	defer p.running.Done()
	next := make(chan func(), 1) // Start does not wait for this goroutine to be scheduled
	for ok := true; ok; f, ok = <-next {
		f()
		if !p.park(next) {
			return
		}
	}
}

func (p *Pool) park(next chan<- func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) == most {
		return false
	}
	p.idle = append(p.idle, next)
	return true
}

// Close ends the idle goroutines and waits for the others, until then at the most. A goroutine that is still in a call
// ends with it.
func (p *Pool) Close(until time.Time) {
	p.mu.Lock()
	p.closed = true
	for _, worker := range p.idle {
		close(worker)
	}
	p.idle = nil
	p.mu.Unlock()
	over := make(chan struct{})
	go func() {
		p.running.Wait()
		close(over)
	}()
	patience := time.NewTimer(time.Until(until))
	defer patience.Stop()
	select {
	case <-over:
	case <-patience.C:
	}
}

// Do runs f, and waits for it as long as ctx lasts. After an error of ctx f may still run: what it uses belongs to it.
func (p *Pool) Do(ctx context.Context, f func() error) error {
	var err error
	done := make(chan struct{})
	p.Start(func() {
		defer close(done)
		err = f()
	})
	if left := Await(ctx, ctx, done); left != nil {
		return left
	}
	return err
}

// Await waits until done is closed. If ctx or limit ends first it returns why: ctx's error, or the cause of limit.
func Await(ctx, limit context.Context, done <-chan struct{}) error {
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
