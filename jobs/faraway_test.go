package jobs_test

import (
	"context"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_At_farAway asks for times that no record can hold.
func TestScheduler_At_farAway(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		for _, at := range []time.Time{time.Unix(1<<40, 0), time.Unix(-1<<40, 0)} {
			if err := n.At(context.Background(), "h", "x", at, nil); err == nil {
				t.Errorf("At takes %s", at)
			}
		}
		c.Stop()
	})
}
