package jobs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// three starts three nodes with a job of every minute.
func three(c *jobstest.Cluster, run func(context.Context) error) []*jobstest.Node {
	for range 3 {
		n := c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "j", Spec: "* * * * *", Run: run})
		n.Start()
	}
	time.Sleep(time.Second)
	return c.Nodes()
}

// TestScheduler_Pause pauses a job on one node, restarts the whole cluster, and resumes it on another: nothing runs in
// between and nothing is owed for it.
func TestScheduler_Pause(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx := context.Background()
		nodes := three(c, jobstest.Sleep(time.Second))
		time.Sleep(2 * time.Minute) // minutes 1 and 2
		if err := nodes[0].Pause(ctx, "j", "ada", "too <loud>"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		for _, n := range nodes {
			n.Stop()
		}
		nodes = three(c, jobstest.Sleep(time.Second))[3:]
		time.Sleep(3 * time.Minute)
		st, err := nodes[1].Status(ctx, "j")
		if err != nil || st[0].Paused == nil || st[0].Paused.Author != "ada" || st[0].Paused.Reason != "too <loud>" ||
			!st[0].Next.IsZero() {
			t.Fatalf("Status = %+v, %v; want it paused by ada", st, err)
		}
		if err := nodes[1].Resume(ctx, "j", "bob"); err != nil {
			t.Fatal(err)
		}
		resumed := time.Now()
		time.Sleep(2 * time.Minute)
		for _, n := range nodes {
			n.Stop()
		}
		runs := c.Finished("j")
		if got := jobstest.Outcomes(runs); got != "ok ok ok ok" || runs[2].Tick.Before(resumed) ||
			runs[2].Started.Sub(runs[2].Tick) > time.Second {
			t.Errorf("runs %+v, want two before the pause and two on time after it", runs)
		}
		var skipped []Run
		for _, r := range c.Recorded("j") {
			if r.Outcome == OutcomeSkipped {
				skipped = append(skipped, r)
			}
		}
		if len(skipped) != 1 || !strings.Contains(skipped[0].Reason, "paused by ada") ||
			!strings.Contains(skipped[0].Reason, "resumed by bob: too <loud>") {
			t.Errorf("skipped %+v, want one record that stands for the pause", skipped)
		}
	})
}

func TestScheduler_control_unknown(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx := context.Background()
		n := three(c, jobstest.Sleep(0))[0]
		_, runNow := n.RunNow(ctx, "x", "ada")
		_, status := n.Status(ctx, "x")
		_, upcoming := n.Upcoming("x", 3)
		for call, err := range map[string]error{
			"Pause": n.Pause(ctx, "x", "ada", ""), "Resume": n.Resume(ctx, "x", "ada"),
			"RunNow": runNow, "Status": status, "Upcoming": upcoming,
		} {
			if !errors.Is(err, ErrUnknownJob) || !strings.Contains(err.Error(), `"x"`) {
				t.Errorf("%s of an unknown job = %v, want ErrUnknownJob with its name", call, err)
			}
		}
		for _, id := range []string{"", "x", "j@nobody.1"} {
			_, find := n.FindRun(ctx, id)
			if cancel := n.Cancel(ctx, id, "ada", ""); !errors.Is(cancel, ErrUnknownRun) ||
				!errors.Is(find, ErrUnknownRun) {
				t.Errorf("Cancel and FindRun of run %q = %v and %v, want ErrUnknownRun", id, cancel, find)
			}
		}
		if err := n.Withdraw(ctx, "x"); !errors.Is(err, ErrUnknownRun) {
			t.Errorf("Withdraw of what was never put = %v, want ErrUnknownRun", err)
		}
		if err := n.Resume(ctx, "j", "ada"); err != nil {
			t.Errorf("Resume of a job that is not paused = %v, want nil", err)
		}
		c.Stop()
	})
}

// TestScheduler_RunNow asks a node that has the job, and one that only knows of it: either way it runs once, under its
// lock, with the author in its record, also while the job is paused.
func TestScheduler_RunNow(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx := context.Background()
		nodes := three(c, jobstest.Sleep(5*time.Second))
		stranger := c.Node(Config{}, 0)
		if err := nodes[0].Pause(ctx, "j", "ada", ""); err != nil {
			t.Fatal(err)
		}
		for _, n := range []*jobstest.Node{nodes[1], stranger} {
			id, err := n.RunNow(ctx, "j", "bob")
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
			r, err := stranger.FindRun(ctx, id)
			if err != nil || r.Outcome != "" || r.Started.IsZero() || r.Trigger != TriggerManual || r.Author != "bob" {
				t.Errorf("in mid-run FindRun = %+v, %v; want it begun", r, err)
			}
			running, err := stranger.RunningRuns(ctx)
			if err != nil || len(running) != 1 || running[0].ID != id {
				t.Errorf("RunningRuns = %+v, %v; want that one", running, err)
			}
			time.Sleep(10 * time.Second)
			if r, err := stranger.FindRun(ctx, id); err != nil || r.Outcome != OutcomeOK || r.Fence == 0 {
				t.Errorf("afterwards FindRun = %+v, %v; want it ok, under a lock", r, err)
			}
		}
		if runs := c.Finished("j"); jobstest.Outcomes(runs) != "ok ok" {
			t.Errorf("runs %+v, want two", runs)
		}
		c.Stop()
	})
}

// TestScheduler_Cancel cancels a run from the node that has it, from another one, and while it waits for its lock.
func TestScheduler_Cancel(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx := context.Background()
		for range 2 {
			n := c.Node(Config{}, 0)
			n.MustAdd(Job{Name: "j", Spec: "0 0 1 1 *", Retries: 3, Overlap: OverlapQueue,
				Run: jobstest.Sleep(time.Hour)})
			n.Start()
		}
		time.Sleep(time.Second)
		nodes := c.Nodes()
		var ids []string
		for range 3 {
			id, err := nodes[0].RunNow(ctx, "j", "ada")
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
			time.Sleep(time.Second)
		}
		for _, cancel := range []struct {
			by  *jobstest.Node
			run string
		}{{nodes[1], ids[2]}, {nodes[0], ids[0]}, {nodes[1], ids[1]}} {
			if err := cancel.by.Cancel(ctx, cancel.run, "bob", "enough"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
			r, err := nodes[1].FindRun(ctx, cancel.run)
			if err != nil || r.Outcome != OutcomeCancelled || !strings.HasPrefix(r.Reason, "cancelled by bob: enough") {
				t.Errorf("cancelled run = %+v, %v; want it cancelled by bob", r, err)
			}
		}
		if running, err := nodes[0].RunningRuns(ctx); err != nil || len(running) != 0 {
			t.Errorf("in flight = %+v, %v; want nothing, and no retry", running, err)
		}
		c.Stop()
	})
}

// TestScheduler_Nodes checks what each node tells of itself, and that a killed one is seen to be dead.
func TestScheduler_Nodes(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx := context.Background()
		for _, skew := range []time.Duration{0, -3 * time.Minute, 30 * time.Second} {
			n := c.Node(Config{}, skew)
			n.MustAdd(Job{Name: "j", Spec: "* * * * *", Run: jobstest.Sleep(time.Second)})
			n.Start()
		}
		time.Sleep(10 * time.Second)
		died := time.Now()
		c.Nodes()[0].Crash()
		time.Sleep(time.Minute)
		c.Nodes()[2].Stop()
		nodes, err := c.Nodes()[1].Scheduler.Nodes(ctx)
		if err != nil || len(nodes) != 2 || nodes[0].Name != "n0" || nodes[1].Name != "n1" {
			t.Fatalf("Nodes = %+v, %v; want the dead one and the one that is left", nodes, err)
		}
		if nodes[0].Heartbeat.After(died) || time.Since(nodes[1].Heartbeat) > 2*time.Second {
			t.Errorf("heartbeats %s and %s, want one before %s and one now", nodes[0].Heartbeat, nodes[1].Heartbeat,
				died)
		}
		if off := nodes[1].ClockOffset + 3*time.Minute; off.Abs() > time.Millisecond || nodes[1].Jobs != 1 {
			t.Errorf("node = %+v, want its clock 3 minutes behind, and a job", nodes[1])
		}
		time.Sleep(15 * time.Minute)
		if nodes, err := c.Nodes()[1].Scheduler.Nodes(ctx); err != nil || len(nodes) != 1 {
			t.Errorf("Nodes = %+v, %v; want the dead one forgotten", nodes, err)
		}
		c.Stop()
	})
}

// TestScheduler_Drain has a deadline of its own.
func TestScheduler_Drain(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		nodes := three(c, jobstest.Sleep(40*time.Second))
		time.Sleep(time.Minute)
		for _, n := range nodes {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			if err := n.Drain(ctx); err != nil {
				t.Errorf("Drain = %v, want the run to end in time", err)
			}
			cancel()
		}
		if runs := c.Finished("j"); jobstest.Outcomes(runs) != "ok" {
			t.Errorf("runs %+v, want one that ended", runs)
		}
		c.Stop()
	})
}
