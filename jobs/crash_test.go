package jobs

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// body is work that tells which node began it, and that can kill that node.
type body struct {
	mu     sync.Mutex
	starts []string
	during func(n *node, start int) // called with every begin, counted from 1
	takes  time.Duration
}

func (b *body) on(n *node) func(context.Context) error {
	return func(ctx context.Context) error {
		b.mu.Lock()
		b.starts = append(b.starts, n.cfg.Node)
		start := len(b.starts)
		b.mu.Unlock()
		if b.during != nil {
			b.during(n, start)
		}
		return sleepFor(b.takes)(ctx)
	}
}

func (c *cluster) stored(job string) []Run {
	c.t.Helper()
	runs, err := c.store.Runs(context.Background(), job, 1000)
	if err != nil {
		c.t.Fatal(err)
	}
	return runs
}

// TestScheduler_nodeDiesInMidRun checks the three answers to a death in mid-run: no retries, retries, and retries that
// run out on a job that kills every node.
func TestScheduler_nodeDiesInMidRun(t *testing.T) {
	for _, c := range []struct {
		retries, kills int
		want           string // the records, first to last
	}{
		{0, 1, "lost"},
		{1, 1, "lost ok"},
		{2, 9, "lost lost lost"},
	} {
		t.Run(fmt.Sprint(c.retries, " retries ", c.kills, " kills"), func(t *testing.T) {
			bubble(t, func(t *testing.T, cl *cluster) {
				b := &body{takes: 2 * time.Minute, during: func(n *node, start int) {
					if start <= c.kills {
						n.wire.die()
					}
				}}
				for range 5 {
					n := cl.node(Config{DrainTimeout: -1}, 0)
					n.add(Job{Name: "j", Spec: "1 * * * *", Retries: c.retries, Run: b.on(n)})
					n.start()
				}
				time.Sleep(20 * time.Minute)
				runs := cl.stored("j")
				var got []string
				for i := len(runs) - 1; i >= 0; i-- {
					got = append(got, string(runs[i].Outcome))
					if runs[i].Outcome == OutcomeLost && !strings.Contains(runs[i].Reason, "died or was cut off while it ran") {
						t.Errorf("reason %q", runs[i].Reason)
					}
				}
				if s := strings.Join(got, " "); s != c.want || len(b.starts) != len(got) {
					t.Errorf("recorded %q, want %q; started on %v", s, c.want, b.starts)
				}
				if v, _ := cl.store.Look(context.Background(), []string{"j"}); len(v.Jobs[0].Claims) != 0 {
					t.Errorf("still in flight: %+v", v.Jobs[0].Claims)
				}
				cl.stop()
			})
		})
	}
}

// TestScheduler_nodeDiesBeforeTheRun kills the node between its claim and the begin of the run: the tick is run by
// another one though Retries is 0.
func TestScheduler_nodeDiesBeforeTheRun(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		b := &body{takes: time.Second}
		holder := c.node(Config{}, 0)
		lease, err := holder.locks.Acquire(context.Background(), "job:j", lockOptions)
		if err != nil {
			t.Fatal(err)
		}
		var nodes []*node
		for range 3 {
			n := c.node(Config{DrainTimeout: -1}, 0)
			n.add(Job{Name: "j", Spec: "1 * * * *", Overlap: OverlapQueue, Run: b.on(n)})
			n.start()
			nodes = append(nodes, n)
		}
		time.Sleep(70 * time.Second)
		dead := ""
		for _, n := range nodes {
			if n.liveRuns("j") == 1 {
				n.wire.die()
				n.cancel() // and its process is gone
				dead = n.cfg.Node
			}
		}
		if err := lease.Release(context.Background()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		runs := c.stored("j")
		if got := outcomes(runs); got != "ok lost" || runs[0].Node == dead || runs[1].Node != dead || runs[0].Trigger != TriggerRecovery || runs[0].Attempt != 1 {
			t.Errorf("runs %+v, want a lost one of %q, then recovered by another", runs, dead)
		}
		if len(b.starts) != 1 {
			t.Errorf("started on %v, want once", b.starts)
		}
		holder.start()
		c.stop()
	})
}

// TestScheduler_allNodesDie checks that a claimed tick is found after a restart of everything.
func TestScheduler_allNodesDie(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		b := &body{takes: 10 * time.Minute, during: func(n *node, start int) {
			if start == 1 {
				n.wire.die()
			}
		}}
		first := c.node(Config{DrainTimeout: -1}, 0)
		first.add(Job{Name: "j", Spec: "1 * * * *", Retries: 1, Run: b.on(first)})
		first.start()
		time.Sleep(40 * time.Minute)
		second := c.node(Config{DrainTimeout: -1}, 0)
		second.add(Job{Name: "j", Spec: "1 * * * *", Retries: 1, Run: b.on(second)})
		second.start()
		time.Sleep(15 * time.Minute)
		if got := outcomes(c.stored("j")); got != "ok lost" {
			t.Errorf("runs, latest first: %q, want %q", got, "ok lost")
		}
		c.stop()
	})
}
