package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_removedJob removes a job from a program: what is left of it ends by itself after a week, and nothing is
// owed when it comes back after months, or with the race detector after a fortnight.
func TestScheduler_removedJob(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx := context.Background()
		begin := func(names ...string) *jobstest.Node {
			n := c.Node(Config{Heartbeat: 5 * time.Minute}, 0)
			takes := map[string]time.Duration{"a": time.Second, "b": 48 * time.Hour}
			for _, name := range names {
				n.MustAdd(Job{Name: name, Spec: "0 3 * * *", Misfire: MisfireAll, Run: jobstest.Sleep(takes[name])})
			}
			n.Start()
			time.Sleep(time.Minute)
			return n
		}
		old := begin("a", "b")
		if _, err := old.RunNow(ctx, "b", "ada"); err != nil {
			t.Fatal(err)
		}
		if err := old.Pause(ctx, "b", "ada", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		old.Crash()
		n := begin("a")
		time.Sleep(time.Hour)
		if err := n.At(ctx, "mail", "m", time.Now(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := n.RunNow(ctx, "b", "bob"); !errors.Is(err, ErrOrphaned) {
			t.Errorf("RunNow of a removed job: %v, want ErrOrphaned", err)
		}
		if st, err := n.ClusterStatus(ctx, "b"); err != nil || !st[0].Orphaned || st[0].Paused == nil ||
			len(st[0].Running) != 1 {
			t.Errorf("ClusterStatus = %+v, %v; want b orphaned, paused, running", st, err)
		}
		time.Sleep(8 * 24 * time.Hour)
		st, err := n.ClusterStatus(ctx, "b")
		if err != nil || st[0].Paused != nil || len(st[0].Running) != 0 {
			t.Errorf("after eight days: %+v, %v; want nothing left of it", st, err)
		}
		if runs := c.Recorded("b"); len(runs) != 2 || runs[0].Outcome == OutcomeOK || runs[1].Outcome == OutcomeOK {
			t.Errorf("records %+v, want the run and the pause that were ended", runs)
		}
		if runs := c.Recorded("one-off:mail"); len(runs) != 1 || runs[0].Outcome != OutcomeSkipped {
			t.Errorf("records %+v, want the one-off job skipped", runs)
		}
		time.Sleep(time.Duration(rounds(90, 15)) * 24 * time.Hour)
		begin("a", "b")
		time.Sleep(time.Hour)
		if runs := c.Recorded("b"); len(runs) != 2 || runs[0].Tick.After(time.Date(2000, 1, 10, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("records %+v, want nothing more: it was removed for long", runs)
		}
		c.Stop()
	})
}

// TestScheduler_storeAway takes the store away for longer than the session's lease while runs end that no lock guards:
// their nodes live, so they are recorded as they ended, once.
func TestScheduler_storeAway(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		for range 3 {
			n := c.Node(Config{}, 0)
			for _, name := range []string{"a", "b", "c", "d"} {
				n.MustAdd(Job{Name: name, Spec: "* * * * *", Overlap: OverlapAllow,
					Run: jobstest.Sleep(20 * time.Second)})
			}
			n.Start()
			time.Sleep(300 * time.Millisecond)
		}
		const rounds = 20
		for range rounds {
			time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(65 * time.Second)))
			c.Outage(true)
			time.Sleep(17 * time.Second)
			c.Outage(false)
		}
		time.Sleep(20 * time.Second)
		c.Stop()
		for _, name := range []string{"a", "b", "c", "d"} {
			runs := c.Recorded(name)
			for _, r := range runs {
				if r.Outcome != OutcomeOK {
					t.Errorf("%s: %+v, want it ok", name, r)
				}
			}
			if len(runs) != rounds {
				t.Errorf("%s: %d records, want %d", name, len(runs), rounds)
			}
		}
	})
}

// TestScheduler_At_withoutHandler puts a one-off job for a handler that no node has: the log says so.
func TestScheduler_At_withoutHandler(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var log testsync.Log
		n := c.Node(Config{Logger: log.Logger()}, 0)
		n.Start()
		time.Sleep(2 * time.Second)
		if err := n.At(context.Background(), "nobody", "x", time.Now(), nil); err != nil {
			t.Fatal(err)
		}
		expectSaid(t, &log, "one-off job waits for a handler that no node has", 1)
		c.Stop()
	})
}
