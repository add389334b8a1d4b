//go:build linux

package lockchaos

import (
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
)

// ProxyLine is the connections of a process that go through a proxy of its own.
type ProxyLine struct {
	*testenv.Proxy
	Way string // the URL at which the proxy is reached
}

func (l ProxyLine) URL() string { return l.Way }

// Calm implements Line: the harm that is done to a proxy ends by itself.
func (l ProxyLine) Calm() {}

// Close implements Line.
func (l ProxyLine) Close() { l.Cut() }

// ProxyHarms are those of the network, where every Line is a ProxyLine. What is held back arrives later, even when who
// sent it has gone.
var ProxyHarms = []Harm{
	{"cut", 3, func(_ *Chaos, p *Process) { p.Line.(ProxyLine).Cut() }},
	{"silence", 3, func(c *Chaos, p *Process) {
		p.Line.(ProxyLine).Silence()
		c.Later(p.Line.(ProxyLine).Resume)
	}},
	{"cut in silence", 3, func(c *Chaos, p *Process) {
		p.Line.(ProxyLine).Silence()
		c.Later(func() {
			p.Line.(ProxyLine).Resume()
			p.Line.(ProxyLine).Cut()
		})
	}},
	{"lose answers", 3, func(c *Chaos, p *Process) {
		p.Line.(ProxyLine).Swallow()
		c.Later(p.Line.(ProxyLine).Cut)
	}},
	{"slow", 2, func(c *Chaos, p *Process) {
		p.Line.(ProxyLine).Slow(UpTo(c.Rand, 40*time.Millisecond))
		c.Later(func() { p.Line.(ProxyLine).Slow(0) })
	}},
}
