package redisstore_test

import (
	"fmt"
	"slices"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// mine lets the cell's process hold the lock.
func mine(c *cell) {
	c.lease = c.acquire(c.locks, c.key)
	c.was = c.lease.Fence()
}

func mineAll(c *cell) {
	err := answered(func() (err error) {
		c.leases, err = c.locks.AcquireAll(c.m.ctx, c.keys(), lockrt.Options{TTL: long, Wait: matrixPatience})
		return err
	})
	if err != nil {
		c.problem("prepare: %v", err)
	}
}

// manyOfMine lets the cell's process hold more locks than Close releases at a time.
func manyOfMine(c *cell) {
	err := answered(func() error {
		_, err := c.locks.AcquireAll(c.m.ctx, c.manyKeys(), lockrt.Options{TTL: leftTTL, Wait: matrixPatience})
		return err
	})
	if err != nil {
		c.problem("prepare: %v", err)
	}
}

// mineAndAWaiter lets the cell's process hold one lock, and wait for another.
func mineAndAWaiter(c *cell) {
	mine(c)
	other := c.key + " of others"
	c.theirs = c.acquire(c.m.holder, other)
	c.waiting = acquiring(c.m.ctx, c.locks, other, lockrt.Options{TTL: leftTTL, Wait: lockrt.Forever})
	c.eventually("the waiter is in the queue", func() bool { return len(c.info(other).Waiters) == 1 })
}

// theirs lets another process hold the lock.
func theirs(c *cell) { c.theirs = c.acquire(c.m.holder, c.key) }

// theirsBeforeAnother lets another process hold the lock, and a third one wait for it.
func theirsBeforeAnother(c *cell) {
	theirs(c)
	c.waiting = acquiring(c.m.ctx, c.m.next, c.key, lockrt.Options{TTL: long, Wait: lockrt.Forever})
	c.eventually("the third process is in the queue", func() bool { return len(c.info(c.key).Waiters) == 1 })
	// So the process of the cell knows the server, as one that has run for a while does.
	err := answered(func() error {
		_, err := c.locks.Holder(c.m.ctx, c.key)
		return err
	})
	if err != nil {
		c.problem("prepare: %v", err)
	}
}

// oneBroken checks that a Break ended the lease that it saw, or none, and in no case the next.
func oneBroken(c *cell, err error) {
	if err != nil {
		c.releaseLate(c.theirs) // it may have been broken or not
	}
	select {
	case <-c.theirs.Done():
	case <-time.After(matrixPatience):
		c.problem("the lease lives after Break returned nil")
		return
	}
	var r result
	select {
	case r = <-c.waiting:
	case <-time.After(matrixPatience):
		c.problem("the next in line does not get the lock; it is held as %+v", c.info(c.key))
		return
	}
	c.next = r.lease
	switch {
	case r.err != nil && c.saysFault(r.err): // on a slow machine its first question met the fault, for longer than 5 s
		c.next = c.acquire(c.m.next, c.key)
	case r.err != nil:
		c.problem("the next in line: %v", r.err)
		return
	}
	if err := c.next.Check(c.m.ctx); err != nil || c.next.Fence() <= c.theirs.Fence() {
		c.problem("the next holder has fence %d after %d, and hears: %v", c.next.Fence(), c.theirs.Fence(), err)
	}
}

// stillMine checks that a lease lives that nobody has ended.
func stillMine(c *cell, _ error) {
	if err := c.lease.Check(c.m.ctx); err != nil {
		c.problem("the lease, which had minutes left: %v", err)
	}
}

func (c *cell) sees(infos []lockrt.LockInfo, err error) error {
	isMine := func(info lockrt.LockInfo) bool { return info.Key == c.key && info.Fence == c.was }
	if err == nil && !slices.ContainsFunc(infos, isMine) {
		c.problem("it sees %+v, and not the lease with fence %d", infos, c.was)
	}
	return err
}

// keys are those of a call on several; their prefix is the cell's.
func (c *cell) keys() []string { return c.someKeys(4) }

func (c *cell) manyKeys() []string { return c.someKeys(40) }

func (c *cell) someKeys(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprint(c.key, " ", i))
	}
	return keys
}

// inBody starts a call whose body lasts until the fault has begun.
func (c *cell) inBody(do func(body func()) error) chan error {
	began, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- do(func() {
			close(began)
			<-c.failing
		})
	}()
	select {
	case <-began:
	case err := <-done:
		done <- err
	}
	return done
}
