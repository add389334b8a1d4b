//go:build linux

package redisstore_test

import (
	"errors"
	"syscall"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// harm is one thing that the chaos does to a process.
type harm struct {
	name string
	odds int
	do   func(*chaos, int, *chaosProcess)
}

var harms = []harm{
	{"kill", 2, func(c *chaos, i int, p *chaosProcess) {
		_ = p.cmd.Process.Kill()
		<-p.heard
		p.proxy.set(func() { p.proxy.closed = true })
		p.proxy.refuse()
		c.start(i)
	}},
	{"stop", 3, func(c *chaos, _ int, p *chaosProcess) {
		_ = p.cmd.Process.Signal(syscall.SIGSTOP)
		c.later(func() { _ = p.cmd.Process.Signal(syscall.SIGCONT) })
	}},
	{"cut", 3, func(_ *chaos, _ int, p *chaosProcess) { p.proxy.set(p.proxy.cutLocked) }},
	{"silence", 3, func(c *chaos, _ int, p *chaosProcess) {
		p.proxy.set(func() { p.proxy.hole = true })
		c.later(func() { p.proxy.set(func() { p.proxy.hole = false }) })
	}},
	{"hold requests back", 3, func(c *chaos, _ int, p *chaosProcess) {
		p.proxy.set(func() { p.proxy.deaf = true })
		c.later(func() { p.proxy.set(func() { p.proxy.deaf = false }) })
	}},
	{"hold answers back", 3, func(c *chaos, _ int, p *chaosProcess) {
		p.proxy.set(func() { p.proxy.mute = true })
		c.later(func() { p.proxy.set(func() { p.proxy.mute = false }) })
	}},
	{"lose pushes", 2, func(c *chaos, _ int, p *chaosProcess) {
		p.proxy.set(func() { p.proxy.reply = pushes })
		c.later(func() { p.proxy.set(func() { p.proxy.reply = nil }) })
	}},
	{"lose an answer", 3, func(_ *chaos, _ int, p *chaosProcess) { p.proxy.set(func() { first(drop)(p.proxy) }) }},
	{"cut for an answer", 3, func(_ *chaos, _ int, p *chaosProcess) { p.proxy.set(func() { first(cut)(p.proxy) }) }},
	{"cut in an answer", 3, func(_ *chaos, _ int, p *chaosProcess) { p.proxy.set(func() { first(tear)(p.proxy) }) }},
	{"kill subscriptions", 2, func(c *chaos, _ int, _ *chaosProcess) { c.killClients("pubsub") }},
	{"kill connections", 1, func(c *chaos, _ int, _ *chaosProcess) { c.killClients("normal") }},
	{"break", 5, func(c *chaos, _ int, _ *chaosProcess) {
		key := c.keys[c.rand.IntN(len(c.keys))]
		c.mayFail(c.locks.Break(c.ctx, key, "chaos"))
		if c.rand.IntN(2) == 0 {
			c.mayFail(c.locks.Break(c.ctx, key, "chaos, at once again"))
		}
	}},
	{"force", 1, func(c *chaos, _ int, _ *chaosProcess) {
		key := c.keys[c.rand.IntN(len(c.keys))]
		c.witness.force(key, func() { c.mayFail(c.locks.Force(c.ctx, key, "chaos")) })
	}},
}

// act does one harm to one process.
func (c *chaos) act() {
	total := 0
	for _, h := range harms {
		total += h.odds
	}
	n, i := c.rand.IntN(total), c.rand.IntN(len(c.processes))
	for _, h := range harms {
		if n -= h.odds; n < 0 {
			c.acts[h.name]++
			h.do(c, i, c.processes[i])
			return
		}
	}
}

// later ends a harm.
func (c *chaos) later(end func()) {
	lasts := 50*time.Millisecond + upTo(c.rand, 1500*time.Millisecond)
	c.undoing.Go(func() {
		time.Sleep(lasts)
		end()
	})
}

// calm lets all harm end.
func (c *chaos) calm() {
	c.undoing.Wait()
	for _, p := range c.processes {
		p.proxy.set(func() { p.proxy.reply = nil })
	}
}

func (c *chaos) killClients(kind string) {
	if err := c.admin.ClientKillByFilter(c.ctx, "TYPE", kind, "SKIPME", "yes").Err(); err != nil {
		c.t.Errorf("kill %s connections: %v", kind, err)
	}
}

// mayFail takes what a Break may say of a lock that changes hands.
func (c *chaos) mayFail(err error) {
	if err != nil && !errors.Is(err, lockrt.ErrNotHeld) {
		c.t.Errorf("break: %v", err)
	}
}
