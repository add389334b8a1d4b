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

var clockSteps = []time.Duration{time.Hour, -time.Hour, 75 * time.Second, -75 * time.Second, 2 * time.Second}

// TestConfig_Now_steps has the clock of a node alone, and then of one of two, set forward or back, with and without a
// monotonic reading: every tick runs in time.
func TestConfig_Now_steps(t *testing.T) {
	t.Parallel()
	for _, step := range clockSteps {
		for _, wall := range []bool{false, true} {
			for nodes := 1; nodes <= 2; nodes++ {
				t.Run(fmt.Sprint(step, " wall ", wall, " nodes ", nodes), func(t *testing.T) {
					jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) { expectStepBorne(t, c, step, wall, nodes) })
				})
			}
		}
	}
}

func expectStepBorne(t *testing.T, c *jobstest.Cluster, step time.Duration, wall bool, nodes int) {
	var off atomic.Int64
	now := func() time.Time {
		at := time.Now().Add(time.Duration(off.Load()))
		if wall {
			return at.Round(0)
		}
		return at
	}
	for i := range nodes {
		cfg := Config{History: 1000}
		if i == 0 {
			cfg.Now = now
		}
		n := c.Node(cfg, 0)
		for _, misfire := range []Misfire{MisfireAll, MisfireOnce, MisfireSkip} {
			n.MustAdd(Job{Name: string(misfire), Spec: "* * * * * *", Misfire: misfire, Run: jobstest.Sleep(0)})
		}
		n.Start()
	}
	time.Sleep(3*time.Second + 300*time.Millisecond)
	from := time.Now()
	off.Store(int64(step))
	time.Sleep(20 * time.Second)
	off.Store(0)
	time.Sleep(20 * time.Second)
	to := time.Now()
	for _, misfire := range []Misfire{MisfireAll, MisfireOnce, MisfireSkip} {
		expectPunctual(t, c, string(misfire), from, to.Add(-time.Second))
	}
	c.Stop()
}

// TestScheduler_wallClockSteps has the machine's clock set under the default Config.Now, as settimeofday does: the
// monotonic clock goes on.
func TestScheduler_wallClockSteps(t *testing.T) {
	t.Parallel()
	for _, step := range clockSteps {
		jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
			var off atomic.Int64
			n := c.Node(Config{History: 1000}, 0)
			n.SetWallClock(func() time.Time { return time.Now().Add(time.Duration(off.Load())) })
			n.MustAdd(Job{Name: "j", Spec: "* * * * * *", Run: jobstest.Sleep(0)})
			n.Start()
			time.Sleep(3*time.Second + 300*time.Millisecond)
			from := time.Now()
			off.Store(int64(step))
			time.Sleep(20 * time.Second)
			expectPunctual(t, c, "j", from, time.Now().Add(-time.Second))
			c.Stop()
		})
	}
}

// TestScheduler_storeClockSteps has the store's clock set back while a tick that is owed waits and the store is away,
// and forth again: the node is soon back at work, by what the store's clock shows.
func TestScheduler_storeClockSteps(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var off atomic.Int64
		off.Store(int64(time.Hour))
		c.Store = jobmem.NewAt(func() time.Time { return time.Now().Add(time.Duration(off.Load())) })
		n := c.Node(Config{}, 0)
		n.Start()
		time.Sleep(3 * time.Second)
		n.CutJobs(true)
		n.MustAdd(Job{Name: "j", Spec: "* * * * * *", Run: jobstest.Sleep(0)}) // its registration fails
		time.Sleep(3 * time.Second)
		off.Store(0)
		n.CutJobs(false)
		time.Sleep(10 * time.Second)
		from := time.Now()
		time.Sleep(5 * time.Second)
		expectPunctual(t, c, "j", from, time.Now().Add(-time.Second))
		c.Stop()
	})
}

// TestConfig_Now_fails has a clock that panics or blocks: at construction it is refused, later time.Now stands in for
// it, and nothing is held up.
func TestConfig_Now_fails(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(){"panics": func() { panic("no time") }, "blocks": func() { time.Sleep(time.Hour) }} {
		jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
			now := func() time.Time { fail(); return time.Now() }
			other := c.Node(Config{}, 0)
			if _, err := New(other.Locker(), Config{Now: now}); err == nil || !strings.Contains(err.Error(), "Config.Now") {
				t.Errorf("%s: New = %v, want an error that names Config.Now", name, err)
			}
			var failing atomic.Bool
			var log testsync.Log
			n := c.Node(Config{Logger: log.Logger(), Now: func() time.Time {
				if failing.Load() {
					fail()
				}
				return time.Now()
			}}, 0)
			n.MustAdd(Job{Name: "j", Spec: "* * * * * *", Run: jobstest.Sleep(0)})
			n.Start()
			time.Sleep(3*time.Second + 300*time.Millisecond)
			from := time.Now()
			failing.Store(true)
			time.Sleep(20 * time.Second)
			expectPunctual(t, c, "j", from, time.Now().Add(-time.Second))
			expectSaid(t, &log, "Config.Now fails", 1)
			began := time.Now()
			if err := n.Shutdown(); err != nil || time.Since(began) > 2*time.Second {
				t.Errorf("%s: Run = %v, %s after its context's end", name, err, time.Since(began))
			}
			c.Stop()
			time.Sleep(2 * time.Hour) // what blocks ends
		})
	}
}
