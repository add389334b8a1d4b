package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// outlasts is whether the call may go on for longer than the fault: somebody else holds the lock, by the store's word.
func (c *cell) outlasts() bool { return c.call.name == "Acquire in the queue" && c.kind == endless }

// bound is how long the call may take.
func (c *cell) bound() time.Duration {
	limit := storeTime
	if c.call.waits && c.wait > 0 {
		limit = min(limit, c.wait)
	}
	if c.kind != endless && !c.call.deaf {
		limit = min(limit, ctxTime)
	}
	return limit
}

// toJudge notes the end of the call, for judge to look at it.
func (c *cell) toJudge() {
	c.judged, c.ended = true, c.ctx.Err()
	if end, ok := c.ctx.Deadline(); ok && !time.Now().Before(end) {
		c.ended = context.DeadlineExceeded // its timer may be late
	}
}

// judge looks at the end of the call. That is done when all is over: only then is it known how late everything was.
func (c *cell) judge() {
	ended := c.ended
	if limit := c.bound(); c.took > limit+matrixSlack+lagged() {
		c.problem("it took %s, want %s at the most; it ended with: %v", c.took.Round(time.Millisecond), limit, c.err)
	}
	isCtx := errors.Is(c.err, context.Canceled) || errors.Is(c.err, context.DeadlineExceeded)
	isBusy := errors.Is(c.err, lockrt.ErrBusy)
	switch {
	case c.err == nil && c.fault.total && !c.call.silent && !slices.Contains(c.call.survives, c.fault.name):
		c.problem("it returns nil, though the store cannot be asked")
	case c.err == nil:
	case c.call.silent:
		c.problem("it returns what went wrong after the work: %v", c.err)
	case isCtx && ended == nil:
		c.problem("a context's error, and the caller's lives: %v", c.err)
	case isBusy && c.theirs == nil:
		c.problem("ErrBusy, and nobody holds the lock: %v", c.err)
	case errors.Is(c.err, lockrt.ErrNotHeld) || errors.Is(c.err, lockrt.ErrLost):
		c.problem("the end of a lease that the store knows of: %v", c.err)
	case ended != nil && !c.call.deaf && c.endedByCtx() && !errors.Is(c.err, ended):
		c.problem("the error is not that of the context, which ended it: %v", c.err)
	default:
		c.judgeText(isCtx)
	}
}

// endedByCtx is whether it must have been the context that ended the call. Clients give connections its deadline, and
// hear of that from them before.
func (c *cell) endedByCtx() bool {
	atOnce := 10*time.Millisecond + lagged() // the call may have ended before, and its end been noticed late
	var network net.Error
	timeout := errors.As(c.err, &network) && network.Timeout()
	return c.took > ctxTime+atOnce || c.kind == deadline && c.took > ctxTime-10*time.Millisecond && timeout
}

// judgeText checks that the error says what was tried, and what happened to it.
func (c *cell) judgeText(isCtx bool) {
	text, tried := c.err.Error(), c.call.says
	if strings.Contains(tried, "%q") {
		tried = fmt.Sprintf(tried, c.key)
	}
	if !strings.Contains(text, tried) {
		c.problem("the error does not say that it tried to %s: %s", tried, text)
	}
	if isCtx || len(c.fault.says) == 0 {
		return
	}
	if c.saysFault(c.err) {
		return
	}
	// A server that loads answers now and then, and the client dials some times before it says that it was refused:
	// within a short wait neither need have said anything. Nor need it on a machine that is busy with other work.
	const unheard, busy = 2 * time.Second, 100 * time.Millisecond
	if c.took < unheard || lagged() > busy {
		return
	}
	c.problem("the error does not say %q: %s", c.fault.says, text)
}

// saysFault reports whether an error names the fault of the cell.
func (c *cell) saysFault(err error) bool {
	return slices.ContainsFunc(c.fault.says, func(word string) bool { return strings.Contains(err.Error(), word) })
}
