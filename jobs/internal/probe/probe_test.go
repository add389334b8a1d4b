package probe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// importPath is what the names of the jobs begin with.
const importPath = "github.com/lockgen/lockgen/jobs/internal/probe"

// work is the body of all the generated jobs.
func work(ctx context.Context, job string) error {
	switch strings.TrimPrefix(job, importPath+".") {
	case "tries":
		return errors.New("it always fails")
	case "spreads":
		return nil
	case "forgets", "replays", "condenses":
		return jobstest.Sleep(time.Second)(ctx)
	case "tokyo":
		if _, tick, _ := jobs.TickFromContext(ctx); tick.Format("15:04 -0700") != "02:30 +0900" {
			return errors.New("for " + tick.String())
		}
		return lockrt.AssertHeld(ctx, "probe:tokyo")
	}
	return jobstest.Sleep(100 * time.Second)(ctx) // longer than from one tick to the next
}

// TestOptions runs the generated jobs on three nodes, which are all down from 03:05 to 03:45, and looks at what is on
// record: each option of the directive has done what it is for.
func TestOptions(t *testing.T) {
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		up := func() {
			for range 3 {
				n := c.Node(jobs.Config{Heartbeat: 10 * time.Second, History: 1000}, 0)
				if err := RegisterJobs(n.Scheduler, work); err != nil {
					t.Fatal(err)
				}
				n.Start()
			}
		}
		up()
		time.Sleep(3*time.Hour + 5*time.Minute)
		c.Stop()
		time.Sleep(40 * time.Minute)
		up()
		time.Sleep(24*time.Hour - 3*time.Hour - 45*time.Minute)
		c.Stop()
		for job, want := range map[string]string{
			"early-in-tokyo":  "ok", // 17:30 UTC
			"probe.givesWay":  "ok skipped",
			"probe.queues":    "ok ok",
			"probe.waits":     "ok ok",
			"probe.replaces":  "cancelled ok",
			"probe.ends":      "timeout",
			"probe.tries":     "error error error",
			"probe.forgets":   "skipped",
			"probe.condenses": "skipped ok",
			"probe.replays":   "ok ok ok ok",
		} {
			runs := c.Finished(strings.Replace(job, "probe.", importPath+".", 1))
			if strings.HasSuffix(job, "forgets") || strings.HasSuffix(job, "condenses") || strings.HasSuffix(job, "replays") {
				runs = between(runs, "03:05", "03:45")
			}
			if got := jobstest.Outcomes(runs); got != want {
				t.Errorf("%s: %q, want %q; %+v", job, got, want, runs)
			}
		}
		early, late := time.Hour, time.Duration(0)
		spread := c.Finished(importPath + ".spreads")
		for _, r := range spread {
			early, late = min(early, r.Started.Sub(r.Tick)), max(late, r.Started.Sub(r.Tick))
		}
		if len(spread) != 60 || early > 10*time.Second || late < 30*time.Second || late > 40*time.Second {
			t.Errorf("%d runs from %s to %s late, want 60 over 40 s", len(spread), early, late)
		}
	})
}

// between returns the runs of ticks from one time of the day to another.
func between(runs []jobs.Run, from, to string) (some []jobs.Run) {
	for _, r := range runs {
		if at := r.Tick.Format("15:04"); from <= at && at < to {
			some = append(some, r)
		}
	}
	return some
}
