package lockrt

import (
	"context"
	"sync/atomic"
	"time"
)

// callerContext is the context of a caller for what is done on its behalf. A method of a context of the caller's own may
// panic, at any time and on any goroutine that asks it. What has begun must come to its end all the same: others wait
// behind it in this process, and at the store. So a panic counts as the end of the context, and goes on where the caller
// returns.
type callerContext struct {
	context.Context
	panicked atomic.Pointer[any]
}

var endedChannel = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// ownContext is the context that the caller has passed.
func ownContext(ctx context.Context) context.Context {
	if c, ok := ctx.(*callerContext); ok {
		return c.Context
	}
	return ctx
}

// note keeps what a method has panicked with.
func (c *callerContext) note() {
	if p := recover(); p != nil {
		c.panicked.CompareAndSwap(nil, &p)
	}
}

// Done implements context.Context.
func (c *callerContext) Done() (done <-chan struct{}) {
	done = endedChannel
	defer c.note()
	return c.Context.Done()
}

// Deadline implements context.Context.
func (c *callerContext) Deadline() (deadline time.Time, ok bool) {
	defer c.note()
	return c.Context.Deadline()
}

// Err implements context.Context.
func (c *callerContext) Err() (err error) {
	err = context.Canceled
	defer c.note()
	if c.panicked.Load() == nil {
		err = c.Context.Err()
	}
	return err
}

// Value implements context.Context.
func (c *callerContext) Value(key any) (value any) {
	defer c.note()
	return c.Context.Value(key)
}
