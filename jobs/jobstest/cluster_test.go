package jobstest_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nightly is what a program under test might add.
func nightly(run func(context.Context) error) jobs.Job {
	return jobs.Job{Name: "nightly", Spec: "0 3 * * *", Retries: 1, Run: run}
}

// TestRun is the example of the package's comment: a day and a half on three nodes, one of which dies in mid-run.
func TestRun(t *testing.T) {
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		if now := time.Now(); !now.Equal(jobstest.Start) {
			t.Errorf("the world begins at %s, want %s", now, jobstest.Start)
		}
		var starts atomic.Int32
		for i := range 3 {
			n := c.Node(jobs.Config{Heartbeat: time.Minute}, time.Duration(i)*time.Minute)
			n.MustAdd(nightly(func(ctx context.Context) error {
				if starts.Add(1) == 1 {
					n.Crash()
				}
				return jobstest.Sleep(time.Minute)(ctx)
			}))
			n.Start()
		}
		time.Sleep(36 * time.Hour)
		c.Stop()
		if got := jobstest.Outcomes(c.Finished("nightly")); got != "lost ok ok" || starts.Load() != 3 {
			t.Errorf("told of %q after %d starts, want a lost run, its retry, and the next night's", got, starts.Load())
		}
		if got := jobstest.Outcomes(c.Recorded("nightly")); got != "ok ok lost" {
			t.Errorf("recorded, the latest first: %q", got)
		}
		crashed := 0
		for _, n := range c.Nodes() {
			if n.Crashed() {
				crashed++
			}
		}
		if crashed != 1 {
			t.Errorf("%d nodes have crashed, want 1", crashed)
		}
	})
}

// TestNode_cut goes through what can happen between a node and its stores, as the node's own calls see it.
func TestNode_cut(t *testing.T) {
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx := context.Background()
		n := c.Node(jobs.Config{}, 0)
		n.MustAdd(nightly(jobstest.Sleep(0)))
		n.Start()
		time.Sleep(time.Second)
		ask := func() error { _, err := n.Status(ctx, "nightly"); return err }
		expect := func(when string, want, got error) {
			t.Helper()
			if !errors.Is(got, want) {
				t.Errorf("%s: %v, want %v", when, got, want)
			}
		}
		expect("at first", nil, ask())
		n.CutJobs(true)
		expect("cut off", jobstest.ErrCut, ask())
		n.CutJobs(false)
		expect("connected again", nil, ask())
		c.Outage(true)
		expect("in an outage", jobstest.ErrCut, ask())
		_, err := n.Locker().Holder(ctx, "x")
		expect("locks in an outage", jobstest.ErrCut, err)
		c.Outage(false)
		expect("after it", nil, ask())
		n.DropReplies(1)
		expect("a lost answer", jobstest.ErrCut, n.At(ctx, "mail", "x", time.Now().Add(time.Hour), nil))
		if waiting, err := n.Waiting(ctx, 1); err != nil || len(waiting) != 1 {
			t.Errorf("Waiting = %v, %v; want what was put, though its answer was lost", waiting, err)
		}
		n.Freeze()
		began := time.Now()
		time.AfterFunc(time.Minute, n.Thaw)
		expect("frozen", nil, ask())
		if took := time.Since(began); took != time.Minute {
			t.Errorf("the call of a frozen node took %s, want until it thaws", took)
		}
		n.Crash()
		expect("crashed", jobstest.ErrCut, ask())
		c.Stop()
	})
}

// fake takes what ExpectOnce complains about.
type fake struct {
	testing.TB
	said []string
}

func (f *fake) Helper() {}
func (f *fake) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

// TestCluster_ExpectOnce checks that it complains about a tick too many, one too few, and a run that failed.
func TestCluster_ExpectOnce(t *testing.T) {
	jobstest.Run(t, func(t *testing.T, _ *jobstest.Cluster) {
		f := &fake{TB: t}
		c := jobstest.New(f)
		var starts atomic.Int32
		n := c.Node(jobs.Config{}, 0)
		n.MustAdd(jobs.Job{Name: "j", Spec: "0 * * * *", Run: func(context.Context) error {
			if starts.Add(1) == 2 {
				return errors.New("it failed")
			}
			return nil
		}})
		n.Start()
		from := time.Now()
		time.Sleep(4*time.Hour + time.Minute)
		c.Stop()
		for _, check := range []struct {
			spec     string
			from, to time.Time
			want     int
		}{
			{"0 * * * *", from, from.Add(4 * time.Hour), 1},      // the failed one
			{"0,30 * * * *", from, from.Add(4 * time.Hour), 5},   // and four that did not run
			{"0 * * * *", from, from.Add(3 * time.Hour), 2},      // and one beyond the end
			{"0 12 * * *", from, from.Add(4 * time.Hour), 1 + 1}, // nothing is expected at all
		} {
			f.said = nil
			if c.ExpectOnce("j", check.spec, check.from, check.to); len(f.said) != check.want {
				t.Errorf("%s until %s: %d complaints, want %d: %q", check.spec, check.to, len(f.said), check.want, f.said)
			}
		}
		if got := len(c.Ticks("*/10 * * * *", from, from.Add(time.Hour))); got != 6 {
			t.Errorf("%d ticks of ten minutes in an hour", got)
		}
	})
}
