package jobs_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_wakesOnTime puts a node's machine to sleep: its monotonic clock, and the estimate that hangs on it,
// stand still meanwhile. Within a second of waking it has asked the store for the time and runs what is due.
func TestScheduler_wakesOnTime(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var slept atomic.Int64
		n := c.Node(Config{}, 0)
		n.SetMonotonicClock(func() time.Time { return time.Now().Add(-time.Duration(slept.Load())) })
		var late time.Duration
		n.MustAdd(Job{Name: "j", Spec: "* * * * *", Run: func(ctx context.Context) error {
			_, tick, _ := TickFromContext(ctx)
			late = time.Since(tick) // by the test's clock: the node's may be wrong
			return nil
		}})
		n.Start()
		time.Sleep(90*time.Second + time.Millisecond)
		slept.Store(int64(20 * time.Second))
		if !n.ClockStepped() {
			t.Error("a sleep of 20 s was not noticed")
		}
		time.Sleep(35 * time.Second)
		c.Stop()
		if got := jobstest.Outcomes(c.Finished("j")); got != "ok ok" || late > 2*time.Second {
			t.Errorf("outcomes %q, the last %s late; want two on time", got, late)
		}
	})
}
