package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// recover looks at what is left when the fault is over: nothing, and everything works again.
func (c *cell) recover() {
	if c.outlasts() {
		c.outlast()
	}
	c.cancel()
	if c.done && c.call.after != nil {
		c.call.after(c, c.err)
	}
	if c.finally != nil {
		c.finally()
	}
	if !c.call.closes {
		c.releaseLate(c.lease)
		for _, lease := range c.leases {
			c.releaseLate(lease)
		}
	}
	c.releaseLate(c.theirs)
	c.releaseLate(c.next)
	for _, key := range append(c.keys(), c.key, c.key+" of others") {
		c.leftNothing(key)
	}
	if !c.call.closes {
		c.worksAgain()
	}
}

// outlast lets the call end that waits for another process.
func (c *cell) outlast() {
	c.releaseLate(c.theirs)
	if !c.done {
		select {
		case c.err = <-c.early:
			c.done = true
			if c.err != nil {
				c.toJudge()
			}
		case <-time.After(matrixPatience):
			c.problem("it still waits, and the lock is %+v", c.info(c.key))
		}
	}
}

// releaseLate releases a lease after the fault, which may have been released or broken before.
func (c *cell) releaseLate(lease *lockrt.Lease) {
	err := answered(func() error { return lease.Release(c.m.ctx) })
	if err != nil && !errors.Is(err, lockrt.ErrLost) {
		c.problem("release without a fault: %v", err)
	}
}

// leftNothing waits until nobody holds the lock and nobody stands in its queue.
func (c *cell) leftNothing(key string) {
	queue := "lock:{" + key + "}:queue"
	ok := c.comes(func() bool {
		_, err := c.m.holder.Holder(c.m.ctx, key)
		return errors.Is(err, lockrt.ErrNotHeld) && c.m.admin.Exists(c.m.ctx, queue).Val() == 0
	})
	if !ok {
		c.problem("left behind: %+v, in the queue %q", c.info(key), c.m.admin.ZRange(c.m.ctx, queue, 0, -1).Val())
	}
}

// worksAgain uses the lock once more, from the process that met the fault and from another.
func (c *cell) worksAgain() {
	var last lockrt.Fence
	for _, locks := range []*lockrt.Locker{c.locks, c.m.next} {
		lease := c.acquire(locks, c.key)
		if lease == nil {
			continue
		}
		err := answered(func() error { return lease.Check(c.m.ctx) })
		if err != nil || lease.Fence() <= max(last, c.was) {
			c.problem("the lock is taken with fence %d after %d, check: %v", lease.Fence(), max(last, c.was), err)
		}
		last = lease.Fence()
		c.releaseLate(lease)
	}
	ctx, cancel := context.WithTimeout(c.m.ctx, matrixPatience)
	defer cancel()
	err := c.locks.Close(ctx)
	late := err != nil && strings.Contains(err.Error(), "did not answer") && c.m.late.Add(1) <= mostLate
	if err != nil && !late {
		c.problem("close without a fault, goroutines were up to %s late: %v", lagged(), err)
	}
}

// info is what the server says about the lock; the zero value if it is free.
func (c *cell) info(key string) lockrt.LockInfo {
	info, err := c.m.holder.Holder(c.m.ctx, key)
	if err != nil && !errors.Is(err, lockrt.ErrNotHeld) {
		c.problem("look at the lock: %v", err)
	}
	return info
}

// comes reports whether something comes to be while there is patience.
func (c *cell) comes(cond func() bool) bool {
	for end := time.Now().Add(matrixPatience); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

func (c *cell) eventually(what string, cond func() bool) {
	if !c.comes(cond) {
		c.problem("did not come to be: %s", what)
	}
}
