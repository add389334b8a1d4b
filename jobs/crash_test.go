package jobs_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// body is work that tells which node began it, and that can kill that node.
type body struct {
	mu     sync.Mutex
	starts []string
	during func(n *jobstest.Node, start int) // called with every begin, counted from 1
	takes  time.Duration
}

func (b *body) on(n *jobstest.Node) func(context.Context) error {
	return func(ctx context.Context) error {
		b.mu.Lock()
		b.starts = append(b.starts, n.Name())
		start := len(b.starts)
		b.mu.Unlock()
		if b.during != nil {
			b.during(n, start)
		}
		return jobstest.Sleep(b.takes)(ctx)
	}
}

// TestScheduler_nodeDiesInMidRun checks the three answers to a death in mid-run: no retries, retries, and retries that
// run out on a job that kills every node.
func TestScheduler_nodeDiesInMidRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		retries, kills int
		want           string // the records, first to last
	}{
		{0, 1, "lost"},
		{1, 1, "lost ok"},
		{2, 9, "lost lost lost"},
	} {
		t.Run(fmt.Sprint(c.retries, " retries ", c.kills, " kills"), func(t *testing.T) {
			jobstest.Run(t, func(t *testing.T, cl *jobstest.Cluster) {
				b := &body{takes: 2 * time.Minute, during: func(n *jobstest.Node, start int) {
					if start <= c.kills {
						n.Crash()
					}
				}}
				for range 5 {
					n := cl.Node(Config{DrainTimeout: -1}, 0)
					n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Retries: c.retries, Run: b.on(n)})
					n.Start()
				}
				time.Sleep(20 * time.Minute)
				runs := cl.Recorded("j")
				var got []string
				for i := len(runs) - 1; i >= 0; i-- {
					got = append(got, string(runs[i].Outcome))
					if runs[i].Outcome == OutcomeLost &&
						!strings.Contains(runs[i].Reason, "died or was cut off while it ran") {
						t.Errorf("reason %q", runs[i].Reason)
					}
				}
				if s := strings.Join(got, " "); s != c.want || len(b.starts) != len(got) {
					t.Errorf("recorded %q, want %q; started on %v", s, c.want, b.starts)
				}
				if left, err := cl.Store.InFlight(context.Background()); err != nil || len(left) != 0 {
					t.Errorf("still in flight: %+v, %v", left, err)
				}
				cl.Stop()
			})
		})
	}
}

// TestScheduler_nodeDiesBeforeTheRun kills the node between its claim and the begin of the run: the tick is run by
// another one though Retries is 0.
func TestScheduler_nodeDiesBeforeTheRun(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		b := &body{takes: time.Second}
		holder := c.Node(Config{}, 0)
		lease, err := holder.Locker().Acquire(context.Background(), "job:j", lockOptions)
		if err != nil {
			t.Fatal(err)
		}
		var nodes []*jobstest.Node
		for range 3 {
			n := c.Node(Config{DrainTimeout: -1}, 0)
			n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Overlap: OverlapQueue, Run: b.on(n)})
			n.Start()
			nodes = append(nodes, n)
		}
		time.Sleep(70 * time.Second)
		dead := ""
		for _, n := range nodes {
			if n.LiveRuns("j") == 1 {
				n.Crash()
				dead = n.Name()
			}
		}
		if err := lease.Release(context.Background()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		runs := c.Recorded("j")
		if got := jobstest.Outcomes(runs); got != "ok lost" || runs[0].Node == dead || runs[1].Node != dead ||
			runs[0].Trigger != TriggerRecovery || runs[0].Attempt != 1 {
			t.Errorf("runs %+v, want a lost one of %q, then recovered by another", runs, dead)
		}
		if len(b.starts) != 1 {
			t.Errorf("started on %v, want once", b.starts)
		}
		holder.Start()
		c.Stop()
	})
}

// TestScheduler_allNodesDie checks that a claimed tick is found after a restart of everything.
func TestScheduler_allNodesDie(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		b := &body{takes: 10 * time.Minute, during: func(n *jobstest.Node, start int) {
			if start == 1 {
				n.Crash()
			}
		}}
		first := c.Node(Config{DrainTimeout: -1}, 0)
		first.MustAdd(Job{Name: "j", Spec: "1 * * * *", Retries: 1, Run: b.on(first)})
		first.Start()
		time.Sleep(40 * time.Minute)
		second := c.Node(Config{DrainTimeout: -1}, 0)
		second.MustAdd(Job{Name: "j", Spec: "1 * * * *", Retries: 1, Run: b.on(second)})
		second.Start()
		time.Sleep(15 * time.Minute)
		if got := jobstest.Outcomes(c.Recorded("j")); got != "ok lost" {
			t.Errorf("runs, latest first: %q, want %q", got, "ok lost")
		}
		c.Stop()
	})
}
