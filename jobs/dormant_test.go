package jobs_test

import (
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_dormant_hears kills the only node that has the newest timing of a job, and has the store lose its data at
// once. Another node, which has left the ticks to it since the deploy, knows which of them have begun: none begins again.
func TestScheduler_dormant_hears(t *testing.T) {
	t.Parallel()
	for round := range 8 {
		jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
			begin := func(spec string) *jobstest.Node {
				n := c.Node(Config{}, 0)
				n.MustAdd(Job{Name: "j", Spec: spec, Misfire: MisfireAll, Run: jobstest.Sleep(time.Millisecond)})
				n.Start()
				time.Sleep(3 * time.Second)
				return n
			}
			begin("@every 5s")
			current := begin("*/10 * * * * *")
			time.Sleep(time.Until(time.Now().Truncate(10 * time.Second).Add(43 * time.Second)))
			if round%2 == 1 { // with ticks that are owed, and run one after another
				c.Outage(true)
				time.Sleep(30 * time.Second)
				c.Outage(false)
				time.Sleep(time.Duration(2+round) * 2 * time.Second)
			}
			current.Crash()
			c.Flush()
			time.Sleep(2 * time.Minute)
			c.Stop()
			began := make(map[time.Time]string)
			for _, r := range c.Finished("j") {
				if r.Outcome != OutcomeOK {
					continue
				}
				if before := began[r.Tick]; before != "" {
					t.Errorf("round %d: tick %s began on %s and on %s", round, r.Tick, before, r.Node)
				}
				began[r.Tick] = r.Node
			}
			if began[jobstest.Start.Add(2*time.Minute)] == "" {
				t.Errorf("round %d: ran %v", round, began)
			}
		})
	}
}
