package jobs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// TestScheduler_storeDown checks that ticks are late, not lost, while the store of jobs is away, and that it shows.
func TestScheduler_storeDown(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		from := time.Now()
		for range 3 {
			n := c.Node(Config{}, 0)
			n.MustAdd(Job{Name: "j", Spec: "* * * * *", Grace: 5 * time.Minute, Run: jobstest.Sleep(time.Second)})
			n.Start()
		}
		time.Sleep(90 * time.Second)
		for _, n := range c.Nodes() {
			n.CutJobs(true)
		}
		time.Sleep(3 * time.Minute)
		if err := c.Nodes()[0].Err(); !errors.Is(err, jobstest.ErrCut) ||
			!strings.Contains(err.Error(), "unavailable since 2000-01-01T00:0") {
			t.Errorf("Err while the store is down = %v", err)
		}
		for _, n := range c.Nodes() {
			n.CutJobs(false)
		}
		time.Sleep(2 * time.Minute)
		if err := c.Nodes()[0].Err(); err != nil {
			t.Errorf("Err when the store is back = %v", err)
		}
		to := time.Now()
		c.Stop()
		expectOnceOrHeld(t, c, "j", from, to, 6)
	})
}

// expectOnceOrHeld checks that every minute has one record, which may say that the lock was held by another tick's run.
func expectOnceOrHeld(t *testing.T, c *jobstest.Cluster, job string, from, to time.Time, want int) {
	t.Helper()
	seen := make(map[time.Time]bool)
	for _, r := range c.Finished(job) {
		if seen[r.Tick] || r.Outcome != OutcomeOK && !strings.Contains(r.Reason, "is held by") {
			t.Errorf("run %+v, want one for each tick, ok or held", r)
		}
		seen[r.Tick] = true
	}
	if len(seen) != want {
		t.Errorf("%d ticks recorded from %s to %s, want %d", len(seen), from, to, want)
	}
}

// TestScheduler_storeOfLocksDown checks that "held" and "store down" are told apart, and that a run is not given up
// where missed ticks are to be caught up with.
func TestScheduler_storeOfLocksDown(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "skip", Spec: "1 * * * *", Misfire: MisfireSkip, Run: jobstest.Sleep(time.Second)})
		n.MustAdd(Job{Name: "once", Spec: "1 * * * *", Misfire: MisfireOnce, Run: jobstest.Sleep(time.Second)})
		n.Start()
		n.CutLocks(true)
		time.Sleep(5 * time.Minute)
		n.CutLocks(false)
		time.Sleep(time.Minute)
		c.Stop()
		runs := c.Finished("skip")
		if jobstest.Outcomes(runs) != "skipped" || !strings.Contains(runs[0].Reason, "store of locks unavailable") ||
			!strings.Contains(runs[0].Error, "connection refused") {
			t.Errorf("skip: %+v, want one skipped for the store", runs)
		}
		if runs := c.Finished("once"); jobstest.Outcomes(runs) != "ok" {
			t.Errorf("one-off: %+v, want one that ran when the store was back", runs)
		}
	})
}

// TestScheduler_releaseFails cuts the store of locks off while the work ends: the lock does not stay for its whole TTL.
func TestScheduler_releaseFails(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "j", Spec: "1,2 * * * *", Lock: lockrt.Options{TTL: time.Hour},
			Run: func(context.Context) error {
				n.CutLocks(true)
				return nil
			}})
		n.Start()
		time.Sleep(80 * time.Second)
		n.CutLocks(false)
		time.Sleep(50 * time.Second)
		n.CutLocks(false)
		time.Sleep(10 * time.Second)
		held, err := n.Locker().List(context.Background(), "")
		if got := jobstest.Outcomes(c.Finished("j")); got != "ok ok" || err != nil || len(held) != 0 {
			t.Errorf("outcomes %q, locks %v, %v; want two runs and no lock", got, held, err)
		}
		c.Stop()
	})
}
