package jobs_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	jobmem "github.com/lockgen/lockgen/jobs/memstore"
)

// TestScheduler_partsWithOtherClocks has one of two parts of the store go by a clock that is off: the jobs in each run
// at each tick of its own clock, their records are in order, and the log says so, and when the clocks are set right.
func TestScheduler_partsWithOtherClocks(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{30 * time.Second, -30 * time.Second, 4 * time.Second, time.Second,
		-time.Second} {
		t.Run(fmt.Sprint(skew), func(t *testing.T) {
			jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
				var off atomic.Int64
				off.Store(int64(skew))
				store := &twoParts{Store: c.Store,
					bad: jobmem.NewAt(func() time.Time { return time.Now().Add(time.Duration(off.Load())) })}
				var log testsync.Log
				for range 2 {
					n := c.Node(Config{Store: store, Logger: log.Logger()}, 0)
					for _, name := range []string{"bad1", "bad2", "good1", "good2"} {
						n.MustAdd(Job{Name: name, Spec: "* * * * * *", Run: jobstest.Sleep(10 * time.Millisecond)})
					}
					n.Start()
				}
				time.Sleep(10 * time.Second)
				from := time.Now()
				time.Sleep(30 * time.Second)
				to := time.Now()
				time.Sleep(5 * time.Second)
				for _, name := range []string{"good1", "good2", "bad1", "bad2"} {
					from, to := from, to
					if strings.HasPrefix(name, "bad") {
						from, to = from.Add(skew), to.Add(skew)
					}
					expectPunctual(t, c, name, from, to)
				}
				for _, n := range c.Nodes() {
					if err := n.Err(); err != nil {
						t.Error(err)
					}
				}
				expectSaid(t, &log, "clocks of the job store's servers differ", 2)
				off.Store(0)
				time.Sleep(10 * time.Second)
				expectSaid(t, &log, "clocks of the job store's servers agree again", 2)
				expectSaid(t, &log, "clocks of the job store's servers differ", 2)
				c.Stop()
			})
		})
	}
}

// expectPunctual checks that each second has one run of a job, that began at once, and that all records are in order.
func expectPunctual(t *testing.T, c *jobstest.Cluster, job string, from, to time.Time) {
	t.Helper()
	ran := make(map[time.Time]int)
	for _, r := range c.Finished(job) {
		ran[r.Tick]++
		if r.Claimed.Before(r.Tick) || r.Started.Before(r.Claimed) || r.Ended.Before(r.Started) {
			t.Errorf("%s: the times of %+v are not in order", job, r)
		}
		if late := r.Started.Sub(r.Tick); r.Outcome != OutcomeOK || late > 100*time.Millisecond {
			t.Errorf("%s: tick %s: %s, %s late: %s", job, r.Tick, r.Outcome, late, r.Reason)
		}
	}
	for _, tick := range c.Ticks("* * * * * *", from, to) {
		if ran[tick] != 1 {
			t.Errorf("%s: tick %s has run %d times", job, tick, ran[tick])
		}
	}
}

func expectSaid(t *testing.T, log *testsync.Log, what string, times int) {
	t.Helper()
	if n := strings.Count(log.String(), what); n != times {
		t.Errorf("the log says %d times %q, want %d:\n%s", n, what, times, log.String())
	}
}
