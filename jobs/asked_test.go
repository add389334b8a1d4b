package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_askedForIsNoTick has a store away until long after Grace, with Misfire skip. That drops ticks. A run that
// somebody has asked for is made all the same, also if its node dies, or shuts down and passes it on, and so is a retry.
func TestScheduler_askedForIsNoTick(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for store, cut := range map[string]func(n *jobstest.Node, off bool){
		"jobs": (*jobstest.Node).CutJobs, "locks": (*jobstest.Node).CutLocks,
	} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprint(store, " dies ", dies), func(t *testing.T) {
				t.Parallel()
				jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
					first := c.Node(Config{DrainTimeout: -1}, 0)
					lease, err := c.Node(Config{}, 0).Locker().Acquire(ctx, "job:manual", lockOptions)
					if err != nil {
						t.Fatal(err)
					}
					start := func(n *jobstest.Node) {
						failed := false
						n.MustAdd(Job{Name: "manual", Spec: "@yearly", Misfire: MisfireSkip, Overlap: OverlapQueue,
							Run: jobstest.Sleep(time.Second)})
						n.MustAdd(Job{Name: "retry", Spec: "10 * * * *", Misfire: MisfireSkip, Retries: 1,
							Run: func(context.Context) error {
								if failed {
									return nil
								}
								failed = true
								cut(n, true)
								return errors.New("once")
							}})
						n.Start()
					}
					start(first)
					time.Sleep(time.Second)
					if _, err := first.RunNow(ctx, "manual", ""); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Second)
					if dies {
						first.Crash()
					} else if err := first.Shutdown(); err != nil {
						t.Fatal(err)
					}
					second := c.Node(Config{}, 0)
					start(second)
					time.Sleep(2 * time.Minute) // the run waits for the lock there
					cut(second, true)
					time.Sleep(5 * time.Second)
					if err := lease.Release(ctx); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
					cut(second, false)
					time.Sleep(10 * time.Minute)
					cut(second, false)
					time.Sleep(time.Minute)
					c.Stop()
					manual := "ok"
					if dies {
						manual = "ok lost" // by the first node
					}
					for job, want := range map[string]string{"manual": manual, "retry": "ok error"} {
						runs := c.Recorded(job)
						if got := jobstest.Outcomes(runs); got != want {
							t.Errorf("runs %+v, want %s", runs, want)
						}
					}
					if r := c.Recorded("manual")[0]; r.Trigger != TriggerManual {
						t.Errorf("run %+v, want its trigger %s", r, TriggerManual)
					}
				})
			})
		}
	}
}
