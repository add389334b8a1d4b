//go:build linux

package lockchaos

import (
	"errors"
	"syscall"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Harm is one thing that the chaos does to a process, to its line, or to all.
type Harm struct {
	Name string
	Odds int
	Do   func(*Chaos, *Process)
}

// harms are those that every store can bear.
var harms = []Harm{
	{"kill", 2, func(c *Chaos, p *Process) {
		_ = p.cmd.Process.Kill()
		<-p.heard
		p.Line.Close()
		c.start(p.place)
	}},
	{"stop", 3, func(c *Chaos, p *Process) {
		_ = p.cmd.Process.Signal(syscall.SIGSTOP)
		c.Later(func() { _ = p.cmd.Process.Signal(syscall.SIGCONT) })
	}},
	{"break", 5, func(c *Chaos, _ *Process) {
		key := c.Keys[c.Rand.IntN(len(c.Keys))]
		c.mayFail(c.cfg.Breaker.Break(c.Ctx, key, "chaos"))
		if c.Rand.IntN(2) == 0 {
			c.mayFail(c.cfg.Breaker.Break(c.Ctx, key, "chaos, at once again"))
		}
	}},
	{"force", 1, func(c *Chaos, _ *Process) {
		key := c.Keys[c.Rand.IntN(len(c.Keys))]
		c.witness.force(key, func() { c.mayFail(c.cfg.Breaker.Force(c.Ctx, key, "chaos")) })
	}},
}

// act does one harm to one process.
func (c *Chaos) act() {
	total := 0
	for _, h := range c.harms {
		total += h.Odds
	}
	n, p := c.Rand.IntN(total), c.processes[c.Rand.IntN(len(c.processes))]
	for _, h := range c.harms {
		if n -= h.Odds; n < 0 {
			c.acts[h.Name]++
			h.Do(c, p)
			return
		}
	}
}

// Later ends a harm, after up to 1.5 s.
func (c *Chaos) Later(end func()) {
	lasts := 50*time.Millisecond + UpTo(c.Rand, 1500*time.Millisecond)
	c.undoing.Go(func() {
		time.Sleep(lasts)
		end()
	})
}

// calm lets all harm end.
func (c *Chaos) calm() {
	c.undoing.Wait()
	for _, p := range c.processes {
		p.Line.Calm()
	}
}

// mayFail takes what a Break may say of a lock that changes hands, and of a server that has just been away.
func (c *Chaos) mayFail(err error) {
	switch {
	case err == nil || errors.Is(err, lockrt.ErrNotHeld):
	case c.cfg.Unsteady:
		c.acts["break without an answer"]++
	default:
		c.T.Errorf("break: %v", err)
	}
}
