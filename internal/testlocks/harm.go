package testlocks

import (
	"context"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
)

// act does some harm, and undoes it.
func (r *run) act() {
	n := r.nodes[r.rand.IntN(len(r.nodes))]
	short := 20*time.Millisecond + upTo(r.rand, 300*time.Millisecond)
	long := 500*time.Millisecond + upTo(r.rand, 4*time.Second)
	kinds := 20
	if r.Processes {
		kinds += 4
	}
	what := r.do(r.rand.IntN(kinds), n, short, long)
	r.acts[what]++
	time.Sleep(short / 2)
}

func (r *run) do(kind int, n *node, short, long time.Duration) string {
	during := func(d time.Duration, begin, end func(*testenv.Proxy)) {
		n.each(begin)
		time.Sleep(d)
		n.each(end)
	}
	switch kind {
	case 0:
		s := r.leader()
		s.Kill()
		time.Sleep(short)
		r.must(s.Restart())
		return "leader killed"
	case 1:
		r.stopped(r.leader(), long)
		return "leader stopped"
	case 2:
		r.stopped(r.Servers[r.rand.IntN(len(r.Servers))], long)
		return "server stopped"
	case 3:
		during(long, (*testenv.Proxy).Silence, (*testenv.Proxy).Resume)
		return "node silenced for long"
	case 4, 5, 6:
		during(short, (*testenv.Proxy).Silence, (*testenv.Proxy).Resume)
		return "node silenced"
	case 7, 8, 9:
		n.each((*testenv.Proxy).Cut)
		return "node cut off"
	case 10, 11, 12:
		during(short, (*testenv.Proxy).Swallow, (*testenv.Proxy).Cut)
		return "answers lost"
	case 13, 14:
		line := n.lines[r.rand.IntN(len(n.lines))]
		line.Silence()
		time.Sleep(short)
		line.Resume()
		return "one line silent"
	case 15, 16:
		during(short, func(p *testenv.Proxy) { p.Slow(30 * time.Millisecond) }, func(p *testenv.Proxy) { p.Slow(0) })
		return "node slow"
	case 17, 18, 19:
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = r.operator.Break(ctx, r.keys[r.rand.IntN(len(r.keys))], "chaos") // nobody may hold it
		cancel()
		time.Sleep(short / 4)
		return "lock broken"
	case 20, 21:
		r.replace(n)
		return "process killed"
	default:
		r.must(pause(n.proc.Process))
		time.Sleep(long)
		r.must(resume(n.proc.Process))
		return "process stopped"
	}
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

func (r *run) stopped(s Server, d time.Duration) {
	r.t.Helper()
	r.must(s.Pause())
	time.Sleep(d)
	r.must(s.Resume())
}
