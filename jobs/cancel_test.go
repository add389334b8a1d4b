package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_Cancel_nobodyHasIt cancels runs that wait for any node, and one whose node is dead and whose job nobody
// else has: they end at once, and no node begins them.
func TestScheduler_Cancel_nobodyHasIt(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx := context.Background()
		begun := 0
		begin := func() *jobstest.Node {
			n := c.Node(Config{}, 0)
			n.MustAdd(Job{Name: "j", Spec: "0 3 * * *", Run: func(ctx context.Context) error {
				begun++
				return jobstest.Sleep(time.Hour)(ctx)
			}})
			n.Start()
			time.Sleep(2 * time.Second)
			return n
		}
		begin().Stop()
		onlooker := c.Node(Config{}, 0)
		for range 5 {
			id, err := onlooker.RunNow(ctx, "j", "ada")
			if err != nil {
				t.Fatal(err)
			}
			if err := onlooker.Cancel(ctx, id, "bob", "mistake"); err != nil {
				t.Fatal(err)
			}
		}
		n := begin()
		if runs := c.Recorded("j"); begun != 0 || len(runs) != 5 || runs[0].Outcome != OutcomeCancelled ||
			runs[0].CancelAsked == nil {
			t.Errorf("%d begun, records %+v; want five cancelled ones", begun, runs)
		}
		id, err := n.RunNow(ctx, "j", "ada")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		n.Crash()
		time.Sleep(time.Minute)
		if err := onlooker.Cancel(ctx, id, "bob", ""); err != nil {
			t.Fatal(err)
		}
		if runs := c.Recorded("j"); len(runs) != 6 || runs[0].Outcome != OutcomeCancelled {
			t.Errorf("records %+v, want the run of the dead node cancelled", runs)
		}
		if err := onlooker.Cancel(ctx, id, "bob", ""); !errors.Is(err, ErrUnknownRun) {
			t.Errorf("cancelled again: %v, want ErrUnknownRun", err)
		}
		c.Stop()
	})
}

// TestScheduler_Cancel_endsFirst cancels a run from another node just before it ends: it is ok, and says that somebody
// asked.
func TestScheduler_Cancel_endsFirst(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx := context.Background()
		n := c.Node(Config{Heartbeat: time.Minute}, 0)
		n.MustAdd(Job{Name: "j", Spec: "* * * * *", Retries: 3, Run: func(context.Context) error {
			time.Sleep(10 * time.Second)
			return errors.New("failed")
		}})
		n.Start()
		time.Sleep(65 * time.Second)
		onlooker := c.Node(Config{}, 0)
		runs, err := onlooker.RunningRuns(ctx)
		if err != nil || len(runs) != 1 {
			t.Fatal(runs, err)
		}
		if err := onlooker.Cancel(ctx, runs[0].ID, "bob", "too slow"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		got := c.Finished("j")
		if len(got) != 1 || got[0].Outcome != OutcomeError || got[0].CancelAsked == nil ||
			got[0].CancelAsked.Author != "bob" {
			t.Errorf("runs %+v, want one that failed, without a retry, and says that bob asked for its end", got)
		}
		c.Stop()
	})
}
