package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// cell is one call under one fault.
type cell struct {
	m     *matrix
	fault fault
	call  call
	kind  ctxKind
	wait  time.Duration
	key   string

	proxy   *proxy
	locks   *lockrt.Locker
	failing chan struct{} // closed when the fault has begun

	// What the call works on, or makes.
	lease   *lockrt.Lease
	leases  lockrt.Leases
	was     lockrt.Fence // of lease
	theirs  *lockrt.Lease
	waiting <-chan result
	next    *lockrt.Lease
	finally func()
	ctx     context.Context
	cancel  context.CancelFunc
	early   chan error // where an early call ends

	done   bool // the call has ended
	err    error
	took   time.Duration
	ended  error // of the call's context, when the call had ended
	judged bool  // how it ended is looked at

	mu       sync.Mutex // guards problems
	problems []string
}

func (c *cell) name() string {
	name := fmt.Sprint(c.fault.name, "/", c.call.name, "/", c.kind)
	switch {
	case !c.call.waits:
		return name
	case c.wait == lockrt.Forever:
		return name + ",wait=forever"
	}
	return fmt.Sprint(name, ",wait=", c.wait)
}

func (c *cell) problem(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *cell) options() lockrt.Options {
	o := lockrt.Options{TTL: c.call.ttl, Wait: c.wait}
	if o.TTL == 0 {
		o.TTL = long
	}
	return o
}

// answered does something while all is well. It does it again if a busy machine is late to answer, or if a client that
// was refused many times does without dialing for a second.
func answered(do func() error) error {
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		err := do()
		late := err != nil && (errors.Is(err, syscall.ECONNREFUSED) || strings.Contains(err.Error(), "did not answer"))
		if !late || time.Since(began) > matrixPatience {
			return err
		}
	}
}

// acquire takes a lock while all is well.
func (c *cell) acquire(locks *lockrt.Locker, key string) (lease *lockrt.Lease) {
	o := c.options()
	o.Wait = matrixPatience
	err := answered(func() (err error) {
		lease, err = locks.Acquire(c.m.ctx, key, o)
		return err
	})
	if err != nil {
		c.problem("acquire without a fault: %v", err)
	}
	return lease
}

// prepare makes the situation in which the call is made.
func (c *cell) prepare() {
	c.proxy = newProxy(c.m.t, c.m.server.Addr())
	client := c.proxy.client(func(o *redis.Options) { o.Username, o.Password = "app", aclPassword })
	c.locks = newLocker(c.m.t, client, redisstore.Config{}, func(cfg *lockrt.Config) { cfg.Node = c.key })
	if c.call.before != nil {
		c.call.before(c)
	} else {
		c.releaseLate(c.acquire(c.locks, c.key+" warm")) // the client is connected, and the server knows the scripts
	}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(c.m.ctx))
	if c.call.early != nil {
		c.early = c.call.early(c.ctx, c)
	}
}

// meet makes the call, or lets the one that was made end, while the fault lasts.
func (c *cell) meet() {
	if c.fault.line != nil {
		c.proxy.set(func() { c.fault.line(c.proxy) })
		defer c.fault.heal(c.proxy)
	}
	done, began := c.early, time.Now()
	switch c.kind {
	case cancelled:
		defer time.AfterFunc(ctxTime, c.cancel).Stop()
	case deadline:
		c.ctx, c.cancel = context.WithTimeout(c.ctx, ctxTime)
	}
	close(c.failing)
	if done == nil {
		done = make(chan error, 1)
		go func() { done <- c.call.do(c.ctx, c) }()
	}
	patience := 6 * storeTime
	if c.outlasts() {
		patience = time.Second
	}
	select {
	case c.err = <-done:
		c.took, c.done = time.Since(began), true
		c.toJudge()
	case <-time.After(patience):
		c.early = done
		if !c.outlasts() {
			c.problem("the call does not end, in %s", time.Since(began))
		}
	}
}
