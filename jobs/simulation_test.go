package jobs_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_threeNodesApart is gocron's failure: three nodes started 250 ms apart ran a job of 10 ms that was due
// every second three times a tick, because each found the lock free again.
func TestScheduler_threeNodesApart(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		from := time.Now()
		for range 3 {
			n := c.Node(Config{}, 0)
			n.MustAdd(Job{Name: "j", Spec: "* * * * * *", Run: jobstest.Sleep(10 * time.Millisecond)})
			n.Start()
			time.Sleep(250 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		to := time.Now()
		c.Stop()
		c.ExpectOnce("j", "* * * * * *", from, to)
	})
}

// TestScheduler_clocksApart has nodes with wrong clocks, by little and by much. In the second half they do not even
// correct them by what the store says, so that it must refuse what comes too early or again.
func TestScheduler_clocksApart(t *testing.T) {
	t.Parallel()
	for _, apart := range []time.Duration{200 * time.Millisecond, 30 * time.Second, 3 * time.Minute} {
		for _, deaf := range []bool{false, true} {
			t.Run(fmt.Sprint(apart, " deaf ", deaf), func(t *testing.T) {
				jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
					from := time.Now()
					for _, skew := range []time.Duration{-apart, 0, apart} {
						n := c.Node(Config{}, skew)
						if deaf {
							n.Deafen()
						}
						n.MustAdd(Job{Name: "j", Spec: "* * * * *", Grace: time.Hour,
							Run: jobstest.Sleep(10 * time.Millisecond)})
						n.Start()
					}
					time.Sleep(20*time.Minute + time.Second)
					to := time.Now()
					c.Stop()
					c.ExpectOnce("j", "* * * * *", from, to)
				})
			})
		}
	}
}

// TestScheduler_simulated runs clusters with clocks up to a minute apart through rolling restarts, with jobs of several
// kinds: three nodes, and twenty, longer with LOCKGEN_SOAK.
func TestScheduler_simulated(t *testing.T) {
	t.Parallel()
	few, many := 6, 1
	if os.Getenv("LOCKGEN_SOAK") != "" {
		few, many = 48, 10
	}
	t.Run(fmt.Sprint("3 nodes ", few, " hours"), func(t *testing.T) { simulate(t, 3, few) })
	t.Run(fmt.Sprint("20 nodes ", many, " hours"), func(t *testing.T) { simulate(t, 20, many) })
}

// TestScheduler_year has three nodes whose clocks are minutes apart run a year of ticks: each once, also those of a
// zone that changes its clocks twice. With the race detector it is the fortnight of one of these changes.
func TestScheduler_year(t *testing.T) {
	t.Parallel()
	days := 366 // 2000 is a leap year
	if testenv.RaceEnabled {
		days = 14
	}
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		if testenv.RaceEnabled {
			time.Sleep(time.Until(time.Date(2000, 3, 26, 0, 0, 0, 0, time.UTC)))
		}
		from := time.Now()
		for i := range 3 {
			n := c.Node(Config{Heartbeat: 5 * time.Minute, History: 10_000}, time.Duration(i-1)*3*time.Minute)
			n.MustAdd(Job{Name: "hourly", Spec: "@hourly", Run: jobstest.Sleep(time.Second)})
			n.MustAdd(Job{Name: "monthly", Spec: "@monthly", Run: jobstest.Sleep(time.Hour)})
			n.MustAdd(Job{Name: "nightly", Spec: "30 1 * * *", TZ: "America/New_York",
				Run: jobstest.Sleep(time.Minute)})
			n.Start()
		}
		time.Sleep(time.Duration(days)*24*time.Hour + 150*time.Minute)
		to := time.Now()
		c.Stop()
		c.ExpectOnce("hourly", "@hourly", from, to)
		c.ExpectOnce("monthly", "@monthly", from, to)
		nights := make(map[string]int)
		for _, r := range c.Finished("nightly") {
			nights[r.Tick.Add(-4*time.Hour).Format(time.DateOnly)]++ // its day in New York, in summer and winter
		}
		for night, n := range nights {
			if n != 1 {
				t.Errorf("the night of %s: %d runs", night, n)
			}
		}
		if len(nights) != days {
			t.Errorf("runs in %d nights, want %d", len(nights), days)
		}
	})
}

func simulate(t *testing.T, nodes, hours int) {
	specs := map[string]string{"minutely": "* * * * *", "odd": "7-59/13 */2 * * *", "nightly": "20 0 * * *",
		"often": "*/5 * * * *", "every": "@every 7m"}
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		from := time.Now()
		var running []*jobstest.Node
		begin := func(i int) *jobstest.Node {
			n := c.Node(Config{Heartbeat: 5 * time.Second}, time.Duration(i*37%121-60)*time.Second)
			for name, spec := range specs {
				n.MustAdd(Job{Name: name, Spec: spec, Jitter: 3 * time.Second, Run: jobstest.Sleep(time.Second)})
			}
			n.Start()
			return n
		}
		for i := range nodes {
			running = append(running, begin(i))
			time.Sleep(700 * time.Millisecond)
		}
		for hour := range hours {
			time.Sleep(time.Hour)
			i := hour % nodes
			running[i].Stop()
			running[i] = begin(hour)
		}
		time.Sleep(30 * time.Second) // let the last tick's jitter pass
		to := time.Now().Truncate(time.Minute)
		for _, n := range running {
			n.Stop()
		}
		for name, spec := range specs {
			c.ExpectOnce(name, spec, from, to)
		}
	})
}

// TestScheduler_burst has so many jobs due together that the nodes share them out, while one of them cannot do its
// share: the others do it a moment later.
func TestScheduler_burst(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		const jobs = 300
		for range 3 {
			n := c.Node(Config{}, 0)
			for i := range jobs {
				n.MustAdd(Job{Name: fmt.Sprint("j", i), Spec: "* * * * *", Run: jobstest.Sleep(0)})
			}
			n.Start()
		}
		from := time.Now()
		time.Sleep(119 * time.Second)
		c.Nodes()[0].CutJobs(true) // the others do not know yet
		time.Sleep(62 * time.Second)
		c.Nodes()[0].CutJobs(false)
		to := time.Now()
		c.Stop()
		nodes := make(map[string]int)
		for i := range jobs {
			c.ExpectOnce(fmt.Sprint("j", i), "* * * * *", from, to)
			for _, r := range c.Finished(fmt.Sprint("j", i)) {
				nodes[r.Node]++
				if late := r.Started.Sub(r.Tick); late > 100*time.Millisecond {
					t.Errorf("tick %s of %s began %s late", r.Tick, r.Job, late)
				}
			}
		}
		if len(nodes) != 3 {
			t.Errorf("runs by node: %v, want all three at work", nodes)
		}
	})
}

// TestScheduler_twoVersionsOfASpec is a rolling deploy: as soon as the first node has the new spec its ticks are due,
// and those of the old one are not any more, though nodes with that live on and start again. Those of both run once.
func TestScheduler_twoVersionsOfASpec(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		from := time.Now()
		begin := func(spec string) *jobstest.Node {
			n := c.Node(Config{Heartbeat: 10 * time.Second}, 0)
			n.MustAdd(Job{Name: "j", Spec: spec, Run: jobstest.Sleep(time.Second)})
			n.Start()
			return n
		}
		begin("*/10 * * * *")
		old := begin("*/10 * * * *")
		time.Sleep(time.Hour + time.Minute)
		deployed := time.Now()
		begin("*/15 * * * *")
		time.Sleep(time.Hour)
		old.Stop()
		begin("*/10 * * * *") // started again
		begin("*/15 * * * *")
		time.Sleep(2 * time.Hour)
		to := time.Now()
		c.Stop()
		var want []time.Time
		want = append(want, c.Ticks("*/10 * * * *", from, deployed)...)
		want = append(want, c.Ticks("*/15 * * * *", deployed, to)...)
		var got []time.Time
		for _, r := range c.Finished("j") {
			got = append(got, r.Tick)
			if r.Outcome != OutcomeOK {
				t.Errorf("tick %s: %s, %s", r.Tick, r.Outcome, r.Reason)
			}
		}
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Errorf("ticks %v, want %v", got, want)
		}
	})
}
