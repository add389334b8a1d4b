package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_Failures finds the failure of a job that has run a thousand times since, from a scheduler without jobs.
func TestScheduler_Failures(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		defer c.Stop()
		failed := false
		n := c.Node(Config{History: 5}, 0)
		n.MustAdd(Job{Name: "often", Spec: "* * * * * *", Run: func(context.Context) error {
			if !failed {
				failed = true
				return errors.New("disk full")
			}
			return nil
		}})
		n.Start()
		time.Sleep(20 * time.Minute)
		if none, err := n.Failures(context.Background(), -1); err != nil || len(none) != 0 {
			t.Errorf("Failures of -1 is %+v, %v; want none", none, err)
		}
		failures, err := c.Node(Config{}, 0).Failures(context.Background(), 10)
		if err != nil || len(failures) != 1 || failures[0].Error != "disk full" || !failures[0].Failed() {
			t.Errorf("Failures is %+v, %v; want the one of 20 minutes ago", failures, err)
		}
	})
}
