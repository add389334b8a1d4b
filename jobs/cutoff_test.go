package jobs_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_cutOffNodeKeepsItsRun cuts a node off from the store of jobs only: it still holds the lock and is at
// work, so nobody may take its run over.
func TestScheduler_cutOffNodeKeepsItsRun(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		b := &body{takes: 5 * time.Minute, during: func(n *jobstest.Node, start int) { n.CutJobs(true) }}
		for range 3 {
			n := c.Node(Config{}, 0)
			n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Retries: 5, Run: b.on(n)})
			n.Start()
		}
		time.Sleep(5 * time.Minute)
		for _, n := range c.Nodes() {
			n.CutJobs(false)
		}
		time.Sleep(5 * time.Minute)
		c.Stop()
		if got := jobstest.Outcomes(c.Recorded("j")); got != "ok" || len(b.starts) != 1 {
			t.Errorf("runs %q, started on %v; want one", got, b.starts)
		}
	})
}

// TestScheduler_lostReplies drops the answers to claims, begins and records: nothing runs twice or not at all.
func TestScheduler_lostReplies(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		b := &body{takes: time.Second}
		from := time.Now()
		for i := range 3 {
			n := c.Node(Config{}, 0)
			n.MustAdd(Job{Name: "j", Spec: "* * * * *", Retries: 3, Run: b.on(n)})
			n.Start()
			go func() {
				for m := range 30 {
					if (m+i)%2 == 0 {
						n.DropReplies(1 + m%4)
					}
					time.Sleep(time.Minute)
				}
			}()
		}
		time.Sleep(30*time.Minute + 30*time.Second)
		to := time.Now()
		c.Stop()
		c.ExpectOnce("j", "* * * * *", from, to)
		if len(b.starts) != 30 {
			t.Errorf("started %d times, want 30", len(b.starts))
		}
	})
}

// TestScheduler_poison has a run that kills every node that takes it over before it has begun: that comes to an end.
func TestScheduler_poison(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		b := &body{}
		n.MustAdd(Job{Name: "j", Spec: "1 1 * * *", Run: b.on(n)})
		n.Start()
		time.Sleep(time.Minute)
		view, err := c.Store.Look(context.Background(), []string{"j"})
		if err != nil {
			t.Fatal(err)
		}
		cursor := view.Jobs[0].Cursor
		claim := Claim{
			Job: "j", Prev: cursor, Tick: cursor.Add(time.Microsecond), Due: cursor, Keep: 100, // its owner is dead at once
			InFlight: &InFlight{Owner: "dead", Recoveries: MaxRecoveries,
				Run: Run{ID: "j@dead.1", Job: "j", Tick: cursor, Node: "dead"}},
		}
		if got := c.Store.Claim(context.Background(), []Claim{claim})[0]; got.Status != ClaimWon {
			t.Fatal(got)
		}
		time.Sleep(5 * time.Minute)
		if runs := c.Recorded("j"); jobstest.Outcomes(runs) != "lost" || len(b.starts) != 0 ||
			!strings.Contains(runs[0].Reason, "not run again, too many nodes") {
			t.Errorf("runs %+v, started on %v; want it lost and left alone", runs, b.starts)
		}
		c.Stop()
	})
}

// TestScheduler_poison_counts has one node after another take the run over and die before it has begun.
func TestScheduler_poison_counts(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		holder := c.Node(Config{}, 0)
		if _, err := holder.Locker().Acquire(context.Background(), "job:j", lockOptions); err != nil {
			t.Fatal(err)
		}
		for range MaxRecoveries + 2 {
			n := c.Node(Config{DrainTimeout: -1}, 0)
			n.MustAdd(Job{Name: "j", Spec: "1 0 1 1 *", Overlap: OverlapQueue, Run: jobstest.Sleep(0)})
			n.Start()
			time.Sleep(2 * time.Minute)
			n.Crash()
		}
		runs := c.Recorded("j")
		if len(runs) != MaxRecoveries+1 || !strings.Contains(runs[0].Reason, "not run again, too many nodes") {
			t.Errorf("%d records, the last %+v; want the run given up after %d nodes", len(runs), runs[0],
				MaxRecoveries+1)
		}
		if left, err := c.Store.InFlight(context.Background()); err != nil || len(left) != 0 {
			t.Errorf("still in flight: %+v, %v", left, err)
		}
		c.Stop()
	})
}

// TestScheduler_beginIsNotedFirst cuts the node off from the store of jobs while it waits for the lock. It must not
// begin before the store knows: if it died then, another would run the tick again as one that had not begun.
func TestScheduler_beginIsNotedFirst(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		b := &body{}
		n := c.Node(Config{}, 0)
		lease, err := n.Locker().Acquire(context.Background(), "job:j", lockOptions)
		if err != nil {
			t.Fatal(err)
		}
		n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Overlap: OverlapQueue, Run: b.on(n)})
		n.Start()
		time.Sleep(65 * time.Second)
		n.CutJobs(true)
		if err := lease.Release(context.Background()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if len(b.starts) != 0 {
			t.Error("it began without the store's word")
		}
		n.CutJobs(false)
		time.Sleep(time.Minute)
		c.Stop()
		if got := jobstest.Outcomes(c.Finished("j")); got != "ok" || len(b.starts) != 1 {
			t.Errorf("outcomes %q, started on %v; want one run when the store was back", got, b.starts)
		}
	})
}

// TestScheduler_takenOver has no lock and a node that is cut off from the store of jobs: others take its run over, and
// when it is back it is told to stop, and its record is refused.
func TestScheduler_takenOver(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var cause atomic.Value
		for range 2 {
			n := c.Node(Config{}, 0)
			n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Overlap: OverlapAllow, Retries: 1,
				Run: func(ctx context.Context) error {
					if cause.CompareAndSwap(nil, jobstest.ErrCut) { // the first to come
						n.CutJobs(true)
						<-ctx.Done()
						cause.Store(context.Cause(ctx))
					}
					return nil
				}})
			n.Start()
		}
		time.Sleep(5 * time.Minute)
		for _, n := range c.Nodes() {
			n.CutJobs(false)
		}
		time.Sleep(time.Minute)
		if cause.Load() != ErrTakenOver {
			t.Errorf("cause %v, want %v", cause.Load(), ErrTakenOver)
		}
		c.Stop()
		if got := jobstest.Outcomes(c.Recorded("j")); got != "ok lost" {
			t.Errorf("recorded, latest first: %q, want %q", got, "ok lost")
		}
	})
}
