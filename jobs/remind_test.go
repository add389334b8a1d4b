package jobs_test

import (
	"context"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_flush_asked asks a node about its job, and for something to be done with it, in the moment in which the
// store has lost its data: the node does not say that nobody has ever had the job, and what was asked for is done.
func TestScheduler_flush_asked(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx, flush := context.Background(), func() { c.Flush() }
		for range 2 {
			n := c.Node(Config{}, 0)
			n.MustAdd(Job{Name: "j", Spec: "@yearly", Run: jobstest.Sleep(time.Second)})
			n.MustAdd(Job{Name: "k", Spec: "@hourly", Run: jobstest.Sleep(time.Second)})
			n.Start()
			time.Sleep(300 * time.Millisecond)
		}
		n := c.Nodes()[0]
		time.Sleep(20 * time.Second)
		flush()
		run, err := n.RunNow(ctx, "j", "ada")
		if err != nil {
			t.Error(err)
		}
		time.Sleep(20 * time.Second)
		if r, err := n.FindRun(ctx, run); err != nil || r.Outcome != OutcomeOK {
			t.Errorf("the run that was asked for: %+v, %v", r, err)
		}
		flush()
		if all, err := n.ClusterStatus(ctx, "j"); err != nil || len(all) != 1 || all[0].Orphaned ||
			all[0].Job.Spec != "@yearly" {
			t.Errorf("ClusterStatus = %+v, %v", all, err)
		}
		if err := n.Pause(ctx, "k", "ada", "broken"); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour)
		if all, err := n.ClusterStatus(ctx, "k"); err != nil || all[0].Paused == nil || all[0].Paused.Author != "ada" {
			t.Errorf("two hours after the pause: %+v, %v", all, err)
		}
		c.Stop()
		if runs := c.Finished("k"); len(runs) != 0 {
			t.Errorf("while it was paused ran %+v", runs)
		}
	})
}
