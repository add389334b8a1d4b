package jobs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	lockrt "github.com/lockgen/lockgen/runtime"
)

var lockOptions = lockrt.Options{TTL: 30 * time.Second}

// TestScheduler_drainLetsRunsFinish, cancels those that take too long, and leaves no lock behind.
func TestScheduler_drain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		takes   time.Duration
		timeout time.Duration
		want    string
		within  time.Duration
	}{
		{"finishes in time", 20 * time.Second, time.Minute, "ok", 20 * time.Second},
		{"is cancelled", time.Hour, time.Minute, "cancelled", time.Minute},
		{"is cancelled at once", time.Hour, -1, "cancelled", 0},
		{"default", time.Hour, 0, "cancelled", 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			jobstest.Run(t, func(t *testing.T, cl *jobstest.Cluster) {
				n := cl.Node(Config{DrainTimeout: c.timeout}, 0)
				n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Run: jobstest.Sleep(c.takes)})
				n.Start()
				time.Sleep(time.Minute + time.Second)
				began := time.Now()
				err := n.Shutdown()
				if took := time.Since(began); err != nil || took > c.within {
					t.Errorf("Run = %v after %s, want nil within %s", err, took, c.within)
				}
				held, err := n.Locker().List(context.Background(), "")
				if runs := cl.Recorded("j"); jobstest.Outcomes(runs) != c.want || err != nil || len(held) != 0 {
					t.Errorf("runs %+v, locks %v, %v; want one %s and no lock", runs, held, err, c.want)
				}
				if err := n.Add(Job{Name: "late", Spec: "@daily", Run: jobstest.Sleep(0)}); err == nil {
					t.Error("Add after the end succeeded")
				}
				cl.Stop()
			})
		})
	}
}

// TestScheduler_drainPassesOn checks that a run that waits for its lock, and one that waits for its retry, go over to
// another node when theirs shuts down.
func TestScheduler_drainPassesOn(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		b := &body{takes: time.Second}
		first := c.Node(Config{DrainTimeout: -1}, 0)
		lease, err := first.Locker().Acquire(context.Background(), "job:queued", lockOptions)
		if err != nil {
			t.Fatal(err)
		}
		jobs := func(n *jobstest.Node, fail error) {
			n.MustAdd(Job{Name: "queued", Spec: "1 * * * *", Overlap: OverlapQueue, Run: b.on(n)})
			n.MustAdd(Job{Name: "failing", Spec: "1 * * * *", Retries: 9,
				Run: func(context.Context) error { return fail }})
			n.MustAdd(Job{Name: "cancelled", Spec: "1 * * * *", Retries: 9, Run: func(ctx context.Context) error {
				if fail == nil {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			}})
			n.Start()
		}
		jobs(first, errors.New("here it fails"))
		time.Sleep(time.Minute + 10*time.Second)
		if err := first.Shutdown(); err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(context.Background()); err != nil {
			t.Fatal(err)
		}
		second := c.Node(Config{}, 0)
		jobs(second, nil)
		time.Sleep(time.Minute)
		c.Stop()
		for job, want := range map[string]string{"queued": "ok", "failing": "error error error error ok",
			"cancelled": "cancelled ok"} {
			runs := c.Finished(job)
			last := runs[len(runs)-1]
			if got := jobstest.Outcomes(runs); got != want || last.Node != second.Name() ||
				last.Trigger != TriggerRecovery || last.Attempt != len(runs) {
				t.Errorf("%s: %q, want %q; last %+v", job, got, want, last)
			}
		}
	})
}

// TestScheduler_Drain_cancelled drains without a deadline while the store of jobs is away and a record cannot be
// written, and then loses patience: Run returns too.
func TestScheduler_Drain_cancelled(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Run: jobstest.Sleep(10 * time.Second)})
		n.Start()
		time.Sleep(time.Minute + time.Second)
		n.CutJobs(true)
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Minute, cancel)
		if err := n.Drain(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Drain = %v, want that its context was cancelled", err)
		}
		began := time.Now()
		if err := n.Shutdown(); err != nil || time.Since(began) > 10*time.Second {
			t.Errorf("Run = %v, %s after Drain", err, time.Since(began))
		}
		c.Stop()
	})
}

// TestScheduler_drainEndsWithoutTheRun has work that ignores its context: Run returns all the same, and says so.
func TestScheduler_drainEndsWithoutTheRun(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "deaf", Spec: "1 * * * *",
			Run: func(context.Context) error { time.Sleep(10 * time.Minute); return nil }})
		n.Start()
		time.Sleep(time.Minute + time.Second)
		if err := n.Shutdown(); err == nil || !strings.Contains(err.Error(), `["deaf"]`) {
			t.Errorf("Run = %v, want an error that names the job", err)
		}
		n.Forgive()
		time.Sleep(10 * time.Minute)
		c.Stop()
	})
}

// TestScheduler_drainDoesNotWait checks that a drain does not wait for runs that wait: for their locks or their
// retries.
func TestScheduler_drainDoesNotWait(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{DrainTimeout: time.Hour}, 0)
		lease, err := n.Locker().Acquire(context.Background(), "job:queued", lockOptions)
		if err != nil {
			t.Fatal(err)
		}
		fails := func(context.Context) error { return errors.New("it fails") }
		n.MustAdd(Job{Name: "queued", Spec: "1 * * * *", Overlap: OverlapQueue, Run: fails})
		n.MustAdd(Job{Name: "failing", Spec: "1 * * * *", Retries: 99, Run: fails})
		n.Start()
		time.Sleep(30 * time.Minute)
		began := time.Now()
		if err := n.Shutdown(); err != nil || time.Since(began) > 0 {
			t.Errorf("Run = %v after %s, want nil at once", err, time.Since(began))
		}
		if err := lease.Release(context.Background()); err != nil {
			t.Fatal(err)
		}
		c.Stop()
	})
}

// TestScheduler_Drain_inside has a job drain its own scheduler: with its context that is an error at once, and with
// another one DrainTimeout counts when the context of Run has ended.
func TestScheduler_Drain_inside(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{DrainTimeout: 3 * time.Second}, 0)
		errs := make(chan error, 2)
		n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Run: func(ctx context.Context) error {
			errs <- n.Drain(ctx)
			errs <- n.Drain(context.Background())
			return nil
		}})
		n.Start()
		time.Sleep(10 * time.Minute)
		began := time.Now()
		err := n.Shutdown()
		if took := time.Since(began); took > 14*time.Second {
			t.Errorf("Run = %v after %s, want the end of DrainTimeout, and ten seconds", err, took)
		}
		n.Forgive()
		c.Stop()
		inside, outside := <-errs, <-errs
		if inside == nil || !strings.Contains(inside.Error(), `"j"`) || !errors.Is(outside, ErrCutOff) {
			t.Errorf("Drain with its own context = %v, with another one %v; want errors that say so", inside, outside)
		}
	})
}

// TestScheduler_Drain_times drains with several times: the longest counts, whichever comes first, and that runs were
// cut off is an error.
func TestScheduler_Drain_times(t *testing.T) {
	t.Parallel()
	const end = 0 // the context of Run ends; else a Drain of that time
	for _, c := range []struct {
		asked []time.Duration // a second apart
		takes time.Duration
		cut   bool
	}{
		{[]time.Duration{end, 12 * time.Second}, 10 * time.Second, false},
		{[]time.Duration{12 * time.Second, end}, 10 * time.Second, false},
		{[]time.Duration{12 * time.Second, time.Second}, 10 * time.Second, false},
		{[]time.Duration{time.Second, 12 * time.Second, end}, 15 * time.Second, true},
		{[]time.Duration{end, 4 * time.Second}, 10 * time.Second, true},
		{[]time.Duration{2 * time.Second}, 10 * time.Second, true},
	} {
		jobstest.Run(t, func(t *testing.T, cl *jobstest.Cluster) {
			n := cl.Node(Config{DrainTimeout: 3 * time.Second}, 0)
			n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Run: jobstest.Sleep(c.takes)})
			n.Start()
			time.Sleep(time.Minute + time.Second)
			errs := make(chan error, len(c.asked))
			for _, d := range c.asked {
				go func() {
					if d == end {
						errs <- n.Shutdown()
						return
					}
					ctx, cancel := context.WithTimeout(context.Background(), d)
					defer cancel()
					errs <- n.Drain(ctx)
				}()
				time.Sleep(time.Second)
			}
			var err error
			for range c.asked {
				err = errors.Join(err, <-errs)
			}
			cl.Stop()
			want := "ok"
			if c.cut {
				want = "cancelled"
			}
			if got := jobstest.Outcomes(cl.Recorded("j")); got != want || errors.Is(err, ErrCutOff) != c.cut {
				t.Errorf("%v, a run of %s: %q, Drain = %v; want %q", c.asked, c.takes, got, err, want)
			}
		})
	}
}

// TestScheduler_drain_storeAway ends a node whose stores do not answer, with runs that wait for their context and one
// that ignores it: with the Locker's Close that takes less than the 30 s after which Kubernetes kills.
func TestScheduler_drain_storeAway(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		for i := range 20 {
			n.MustAdd(Job{Name: "obeys" + string(rune('a'+i)), Spec: "1 * * * *",
				Run: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
		}
		n.MustAdd(Job{Name: "deaf", Spec: "1 * * * *",
			Run: func(context.Context) error { time.Sleep(10 * time.Minute); return nil }})
		n.Start()
		time.Sleep(time.Minute + time.Second)
		n.Freeze()
		began := time.Now()
		err := n.Shutdown()
		draining := time.Since(began)
		closing := n.Locker().Close(context.Background())
		if all := time.Since(began); draining > 23*time.Second+500*time.Millisecond || all-draining > 5*time.Second+500*time.Millisecond {
			t.Errorf("Run = %v after %s, Close = %v after %s, want 23s and 5s at most", err, draining, closing,
				all-draining)
		}
		n.Forgive()
		n.Crash()
		time.Sleep(10 * time.Minute)
		c.Stop()
	})
}
