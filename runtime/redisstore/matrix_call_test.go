package redisstore_test

import (
	"context"
	"errors"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// call is one exported method of the API in one situation.
type call struct {
	name string
	// says is what the error of the call says that was tried; %q stands for the cell's key.
	says string
	// waits is whether Options.Wait matters; each of the matrix's waits is tried then.
	waits bool
	// deaf is whether the call goes on after the end of its context, as a release has to.
	closes bool // it ends the Locker
	deaf   bool
	// survives are total faults under which the call may succeed all the same.
	survives []string
	// silent is whether the call reports no failure of the store.
	silent bool
	// total is whether the call makes sense only where all others fail too.
	total bool
	// ttl is the TTL of its leases, if they are left to it. 0: one that no test outlives.
	ttl time.Duration

	before func(c *cell)                                 // makes the situation, while all is well; or nil
	do     func(ctx context.Context, c *cell) error      // makes the call
	after  func(c *cell, err error)                      // looks at what has become of it, when all is well again; or nil
	early  func(ctx context.Context, c *cell) chan error // makes the call before the fault begins, instead of do
}

// leftTTL is the TTL of leases that are left to it.
const leftTTL = 10 * time.Second

var (
	readOnly = []string{"READONLY", "OOM"} // what only reads works there
	frees    = []string{"OOM"}             // what takes no memory works there
)

var matrixCalls = []call{
	{name: "Acquire", says: "acquire lock %q", waits: true, do: func(ctx context.Context, c *cell) (err error) {
		c.lease, err = c.locks.Acquire(ctx, c.key, c.options())
		return err
	}},
	{name: "TryAcquire", says: "acquire lock %q", do: func(ctx context.Context, c *cell) (err error) {
		c.lease, err = c.locks.TryAcquire(ctx, c.key, c.options())
		return err
	}},
	{
		name: "Acquire behind another caller", says: "acquire lock %q", waits: true, total: true,
		do: func(ctx context.Context, c *cell) (err error) {
			headCtx, leave := context.WithCancel(c.m.ctx)
			head := acquiring(headCtx, c.locks, c.key, lockrt.Options{TTL: long, Wait: lockrt.Forever})
			time.Sleep(50 * time.Millisecond) // it may be slower; then this caller is the first in line
			c.finally = func() {
				leave()
				c.releaseLate((<-head).lease)
			}
			c.lease, err = c.locks.Acquire(ctx, c.key, c.options())
			return err
		},
	},
	{
		name: "Acquire in the queue", says: "acquire lock %q", before: theirs,
		early: func(ctx context.Context, c *cell) chan error {
			done := make(chan error, 1)
			go func() {
				var err error
				c.lease, err = c.locks.Acquire(ctx, c.key, lockrt.Options{TTL: long, Wait: lockrt.Forever})
				done <- err
			}()
			c.eventually("the waiter is in the queue", func() bool { return len(c.info(c.key).Waiters) == 1 })
			return done
		},
	},
	{name: "AcquireAll", says: "acquire lock", waits: true, do: func(ctx context.Context, c *cell) (err error) {
		c.leases, err = c.locks.AcquireAll(ctx, c.keys(), c.options())
		return err
	}},
	{name: "AcquireAll of many", says: "acquire lock", waits: true, do: func(ctx context.Context, c *cell) (err error) {
		c.leases, err = c.locks.AcquireAll(ctx, c.manyKeys(), c.options())
		return err
	}},
	{name: "Do", says: "acquire lock %q", waits: true, ttl: leftTTL, do: func(ctx context.Context, c *cell) error {
		return c.locks.Do(ctx, c.key, c.options(), func(context.Context, *lockrt.Lease) error { return nil })
	}},
	{name: "DoAll", says: "acquire lock", waits: true, ttl: leftTTL, do: func(ctx context.Context, c *cell) error {
		return c.locks.DoAll(ctx, c.keys(), c.options(), func(context.Context, lockrt.Leases) error { return nil })
	}},
	{
		name: "Do, at its end", deaf: true, silent: true, ttl: leftTTL,
		early: func(ctx context.Context, c *cell) chan error {
			return c.inBody(func(body func()) error {
				return c.locks.Do(ctx, c.key, c.options(), func(context.Context, *lockrt.Lease) error {
					body()
					return nil
				})
			})
		},
	},
	{
		name: "DoAll, at its end", deaf: true, silent: true, ttl: leftTTL,
		early: func(ctx context.Context, c *cell) chan error {
			return c.inBody(func(body func()) error {
				return c.locks.DoAll(ctx, c.keys(), c.options(), func(context.Context, lockrt.Leases) error {
					body()
					return nil
				})
			})
		},
	},
	{
		name: "List", says: "list locks %q", survives: readOnly, before: mine,
		do: func(ctx context.Context, c *cell) error {
			infos, err := c.locks.List(ctx, c.key)
			return c.sees(infos, err)
		},
	},
	{
		name: "ListPage", says: "list locks %q", survives: readOnly, before: mine,
		do: func(ctx context.Context, c *cell) error {
			// A page may be short: only an error is looked at.
			_, _, err := c.locks.ListPage(ctx, c.key, "", 10)
			return err
		},
	},
	{
		name: "Holder", says: "inspect lock %q", survives: readOnly, before: mine,
		do: func(ctx context.Context, c *cell) error {
			info, err := c.locks.Holder(ctx, c.key)
			return c.sees([]lockrt.LockInfo{info}, err)
		},
	},
	{
		name: "Break", says: "lock %q", survives: frees, before: theirsBeforeAnother, after: oneBroken,
		do: func(ctx context.Context, c *cell) error {
			return c.locks.Break(ctx, c.key, "the matrix says so")
		},
	},
	{
		name: "Force", says: "lock %q", survives: frees, before: theirsBeforeAnother, after: oneBroken,
		do: func(ctx context.Context, c *cell) error {
			return c.locks.Force(ctx, c.key, "the matrix says so")
		},
	},
	{
		name: "Close", says: "lock", closes: true, survives: frees, ttl: leftTTL, before: mineAndAWaiter,
		do: func(ctx context.Context, c *cell) error {
			err := c.locks.Close(ctx)
			if waited := <-c.waiting; !errors.Is(waited.err, lockrt.ErrClosed) || errors.Is(waited.err, lockrt.ErrBusy) {
				c.problem("the waiter ended with %v, want ErrClosed", waited.err)
			}
			return err
		},
	},
	{
		name: "Close with many leases", says: "lock", closes: true, survives: frees, ttl: leftTTL, before: manyOfMine,
		do: func(ctx context.Context, c *cell) error { return c.locks.Close(ctx) },
	},
	{
		name: "Lease.Release", says: "release lock %q", deaf: true, survives: frees, before: mine,
		do: func(ctx context.Context, c *cell) error {
			return c.lease.Release(ctx)
		},
	},
	{
		name: "Lease.Extend", says: "extend lease on %q", survives: frees, before: mine, after: stillMine,
		do: func(ctx context.Context, c *cell) error {
			return c.lease.Extend(ctx, 2*long)
		},
	},
	{
		name: "Lease.Check", says: "check lease on %q", survives: frees, before: mine, after: stillMine,
		do: func(ctx context.Context, c *cell) error {
			return c.lease.Check(ctx)
		},
	},
	{
		name: "Leases.Release", says: "release lock", deaf: true, survives: frees, before: mineAll,
		do: func(ctx context.Context, c *cell) error {
			return c.leases.Release(ctx)
		},
	},
}
