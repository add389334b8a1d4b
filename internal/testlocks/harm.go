package testlocks

import (
	"context"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
)

// harm is one thing that a chaos does, and undoes. It picks one of the nodes, a short time, and a long one.
type harm struct {
	name string
	odds int
	do   func(r *run, n *node, short, long time.Duration)
}

// harms are those that every cluster can bear.
var harms = []harm{
	{"leader killed", 1, func(r *run, _ *node, short, _ time.Duration) {
		s := r.leader()
		s.Kill()
		time.Sleep(short)
		r.must(s.Restart())
	}},
	{"leader stopped", 1, func(r *run, _ *node, _, long time.Duration) { r.stopped(r.leader(), long) }},
	{"server stopped", 1, func(r *run, _ *node, _, long time.Duration) { r.stopped(r.someServer(), long) }},
	{"node silenced for long", 1, func(_ *run, n *node, _, long time.Duration) {
		n.during(long, (*testenv.Proxy).Silence, (*testenv.Proxy).Resume)
	}},
	{"node silenced", 3, func(_ *run, n *node, short, _ time.Duration) {
		n.during(short, (*testenv.Proxy).Silence, (*testenv.Proxy).Resume)
	}},
	{"node cut off", 3, func(_ *run, n *node, _, _ time.Duration) { n.each((*testenv.Proxy).Cut) }},
	{"answers lost", 3, func(_ *run, n *node, short, _ time.Duration) {
		n.during(short, (*testenv.Proxy).Swallow, (*testenv.Proxy).Cut)
	}},
	{"one line silent", 2, func(r *run, n *node, short, _ time.Duration) {
		line := n.lines[r.rand.IntN(len(n.lines))]
		line.Silence()
		time.Sleep(short)
		line.Resume()
	}},
	{"node slow", 2, func(_ *run, n *node, short, _ time.Duration) {
		n.during(short, func(p *testenv.Proxy) { p.Slow(30 * time.Millisecond) }, func(p *testenv.Proxy) { p.Slow(0) })
	}},
	{"lock broken", 3, func(r *run, _ *node, short, _ time.Duration) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = r.operator.Break(ctx, r.keys[r.rand.IntN(len(r.keys))], "chaos") // nobody may hold it
		cancel()
		time.Sleep(short / 4)
	}},
}

// processHarms are those of nodes that are processes.
var processHarms = []harm{
	{"process killed", 2, func(r *run, n *node, _, _ time.Duration) { r.replace(n) }},
	{"process stopped", 2, func(r *run, n *node, _, long time.Duration) {
		r.must(pause(n.proc.Process))
		time.Sleep(long)
		r.must(resume(n.proc.Process))
	}},
}

// act does some harm, and undoes it.
func (r *run) act() {
	n := r.nodes[r.rand.IntN(len(r.nodes))]
	short := 20*time.Millisecond + upTo(r.rand, 300*time.Millisecond)
	long := 500*time.Millisecond + upTo(r.rand, 4*time.Second)
	h := r.pick()
	h.do(r, n, short, long)
	r.acts[h.name]++
	time.Sleep(short / 2)
}

// pick returns one of the harms, by their odds.
func (r *run) pick() harm {
	total := 0
	for _, h := range r.harms {
		total += h.odds
	}
	at := r.rand.IntN(total)
	for _, h := range r.harms {
		if at -= h.odds; at < 0 {
			return h
		}
	}
	panic("unreachable")
}

// replace kills a process, and starts another one in its place.
func (r *run) replace(n *node) {
	n.kill()
	for i, other := range r.nodes {
		if other == n {
			r.nodes[i] = r.start()
		}
	}
}

func (r *run) leader() Server {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := r.Leader(ctx)
	r.must(err)
	return s
}

func (r *run) someServer() Server { return r.Servers[r.rand.IntN(len(r.Servers))] }

func (r *run) stopped(s Server, d time.Duration) {
	r.t.Helper()
	r.must(s.Pause())
	time.Sleep(d)
	r.must(s.Resume())
}
