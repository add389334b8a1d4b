package lockrt

import (
	"context"
	"sync/atomic"
	"time"
)

// callerContext is the context of a caller for what is done on its behalf. A method of a context of the caller's own may
// panic, at any time and on any goroutine that asks it, also after the call: it may belong to a request that is over. What
// has begun must come to its end all the same: others wait behind it in this process, and at the store. So a panic is taken
// for a context that has ended, and goes on where the caller returns. A lease is told of the end of its context through one,
// too. There a panic ends nothing.
type callerContext struct {
	context.Context
	panicked atomic.Pointer[any]
}

// onBehalf returns the context for what is done on the caller's behalf, and the same for its goOn, nil if that is another's
// to call.
func onBehalf(ctx context.Context) (context.Context, *callerContext) {
	if _, ok := ctx.(*callerContext); ok || ctx == nil {
		return ctx, nil
	}
	c := &callerContext{Context: ctx}
	return c, c
}

// callerOf is onBehalf where nobody returns to the caller.
func callerOf(ctx context.Context) context.Context {
	ctx, _ = onBehalf(ctx)
	return ctx
}

// goOn lets the panic of a method go on.
func (c *callerContext) goOn() {
	if c == nil {
		return
	}
	if p := c.panicked.Load(); p != nil {
		panic(*p)
	}
}

var endedChannel = ended.Done()

// note keeps what a method has panicked with.
func (c *callerContext) note() {
	if p := recover(); p != nil {
		first := p // so that only a panic is allocated
		c.panicked.CompareAndSwap(nil, &first)
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
