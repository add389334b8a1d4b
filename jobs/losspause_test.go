package jobs_test

import (
	"context"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_lossAfterPause has the store lose its data, or go back to before, at once after a node has paused a job
// or resumed it, so that no other node has heard of that: it stands all the same.
func TestScheduler_lossAfterPause(t *testing.T) {
	t.Parallel()
	for round := range rounds(60, 12) {
		jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
			ctx := context.Background()
			for range 3 {
				n := c.Node(Config{}, 0)
				for _, name := range []string{"off", "on"} {
					n.MustAdd(Job{Name: name, Spec: "* * * * * *", Misfire: MisfireAll,
						Run: jobstest.Sleep(time.Millisecond)})
				}
				n.Start()
			}
			// This one notices the loss by a job that the others do not have, at a moment of its own.
			early := c.Node(Config{}, 0)
			early.MustAdd(Job{Name: "extra", Spec: "* * * * * *", Jitter: 900 * time.Millisecond, Run: jobstest.Sleep(0)})
			early.MustAdd(Job{Name: "off", Spec: "* * * * * *", Misfire: MisfireAll, Run: jobstest.Sleep(time.Millisecond)})
			early.Start()
			n := c.Nodes()[0]
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(10 * time.Second)
			paused := time.Now()
			must(n.Pause(ctx, "on", "ada", ""))
			time.Sleep(30*time.Second + time.Duration(round)*77*time.Millisecond)
			lose := c.Flush
			if round%2 == 1 {
				lose = c.Snapshot()
			}
			must(n.Pause(ctx, "off", "ada", "broken"))
			must(n.Resume(ctx, "on", "ada"))
			resumed := time.Now()
			time.Sleep(time.Duration(round/2%6) * 110 * time.Millisecond)
			lose()
			lost := time.Now()
			time.Sleep(time.Minute)
			view, err := c.Store.Look(ctx, []string{"off", "on"})
			if err != nil || view.Jobs[0].Paused == nil || view.Jobs[0].Paused.Reason != "broken" ||
				view.Jobs[1].Paused != nil {
				t.Errorf("round %d: %+v, %v; want off paused by ada, and on not", round, view, err)
			}
			c.Stop()
			for _, r := range c.Finished("off") {
				// A store that has forgotten all is noticed before the next claim. One that is a copy from before
				// the pause is noticed at the next heartbeat: until then a node that had not heard of it may claim.
				heard := lost
				if round%2 == 1 {
					heard = lost.Add(2 * time.Second)
				}
				if r.Claimed.After(heard) && r.Outcome == OutcomeOK {
					t.Errorf("round %d: tick %s of the paused job ran", round, r.Tick)
				}
			}
			ran := false
			for _, r := range c.Finished("on") {
				// A node that has not noticed the loss may have claimed it before it hears that the pause is over.
				if late := r.Claimed.Sub(lost) > 2*time.Second; late && r.Tick.After(paused) &&
					r.Tick.Before(resumed) && r.Outcome == OutcomeOK {
					t.Errorf("round %d: tick %s ran, which was due during the pause", round, r.Tick)
				}
				ran = ran || r.Tick.After(lost.Add(30*time.Second)) && r.Outcome == OutcomeOK
			}
			if !ran {
				t.Errorf("round %d: the resumed job does not run", round)
			}
		})
	}
}
