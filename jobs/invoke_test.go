package jobs_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

func TestScheduler_outcomes(t *testing.T) {
	t.Parallel()
	fail := errors.New("no such table")
	for _, c := range []struct {
		name    string
		run     func(context.Context) error
		retries int
		want    string
		text    string
	}{
		{"ok", func(context.Context) error { return nil }, 3, "ok", ""},
		{"error", func(context.Context) error { return fail }, 0, "error", "no such table"},
		{"panic", func(context.Context) error { panic("boom") }, 0, "panic", "invoke_test.go"},
		{"nil panic", func(context.Context) error { panic(nil) }, 0, "panic", "nil"},
		{"goexit", func(context.Context) error { runtime.Goexit(); return nil }, 0, "error", "Goexit"},
		{"timeout", jobstest.Sleep(time.Hour), 0, "timeout", "timeout"},
		{"late but done", func(context.Context) error { time.Sleep(time.Minute); return nil }, 0, "ok", ""},
		{"retries", func(context.Context) error { return fail }, 2, "error error error", "no such table"},
		{"panic retried", func(context.Context) error { panic(fail) }, 1, "panic panic", "no such table"},
	} {
		t.Run(c.name, func(t *testing.T) {
			jobstest.Run(t, func(t *testing.T, cl *jobstest.Cluster) {
				for range 2 {
					n := cl.Node(Config{}, 0)
					n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Timeout: 10 * time.Second, Retries: c.retries,
						Run: c.run})
					n.Start()
				}
				time.Sleep(10 * time.Minute)
				held, err := cl.Nodes()[0].Locker().List(context.Background(), "")
				if err != nil || len(held) != 0 {
					t.Errorf("locks left: %v, %v", held, err)
				}
				cl.Stop()
				runs := cl.Finished("j")
				if got := jobstest.Outcomes(runs); got != c.want || !strings.Contains(runs[0].Error, c.text) {
					t.Fatalf("outcomes %q, want %q; error %q, want one with %q", got, c.want, runs[0].Error, c.text)
				}
				for i, r := range runs {
					if r.Attempt != i+1 || i > 0 && (r.Trigger != TriggerRetry ||
						r.Started.Sub(runs[i-1].Ended).Round(time.Millisecond) < time.Second) {
						t.Errorf("attempt %d is %+v, want it numbered and a second or more after the one before", i+1,
							r)
					}
				}
			})
		})
	}
}

// TestScheduler_retrySucceeds checks that a success ends the attempts, and that the backoff grows.
func TestScheduler_retrySucceeds(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var tries atomic.Int32
		n := c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Retries: 10, Run: func(context.Context) error {
			if tries.Add(1) < 4 {
				return errors.New("not yet")
			}
			return nil
		}})
		n.Start()
		time.Sleep(10 * time.Minute)
		c.Stop()
		runs := c.Finished("j")
		if got, want := jobstest.Outcomes(runs), "error error error ok"; got != want {
			t.Fatalf("outcomes %q, want %q", got, want)
		}
		for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			if got := runs[i+1].Started.Sub(runs[i].Ended).Round(time.Millisecond); got != want {
				t.Errorf("backoff %d is %s, want %s", i+1, got, want)
			}
		}
		stored, err := n.Runs(context.Background(), "j", 10)
		if err != nil || len(stored) != 4 || stored[0].Outcome != OutcomeOK || stored[0].ID != runs[3].ID {
			t.Errorf("Runs = %+v, %v; want the four, the last first", stored, err)
		}
	})
}

// TestScheduler_cancelledButOK cancels runs that make nothing of it, or that take it for a success: who has cancelled
// them is on record all the same, and they are not retried.
func TestScheduler_cancelledButOK(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Retries: 3, Run: func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		}})
		n.Start()
		time.Sleep(90 * time.Second)
		running, err := n.RunningRuns(context.Background())
		if err != nil || len(running) != 1 {
			t.Fatalf("in flight: %+v, %v", running, err)
		}
		if err := n.Cancel(context.Background(), running[0].ID, "ada", "enough"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // its own node need not wait for a heartbeat
		if runs := c.Recorded("j"); jobstest.Outcomes(runs) != "cancelled" ||
			runs[0].Reason != "cancelled by ada: enough" {
			t.Errorf("runs %+v, want one cancelled by ada", runs)
		}
		c.Stop()
	})
}

// TestScheduler_longError checks that a record stays small whatever an error says.
func TestScheduler_longError(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "j", Spec: "1 * * * *",
			Run: func(context.Context) error { return errors.New(strings.Repeat("x", 1<<20)) }})
		n.Start()
		time.Sleep(2 * time.Minute)
		c.Stop()
		if runs := c.Recorded("j"); len(runs) != 1 || len(runs[0].Error) > 9<<10 ||
			!strings.HasSuffix(runs[0].Error, "(cut)") {
			t.Errorf("%d runs, want one with a short error", len(runs))
		}
	})
}

// TestScheduler_onRunPanics checks that a bad callback costs no run.
func TestScheduler_onRunPanics(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{OnRun: func(Run) { panic("callback") }}, 0)
		n.MustAdd(Job{Name: "j", Spec: "1,2 * * * *", Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(10 * time.Minute)
		c.Stop()
		if runs := c.Recorded("j"); jobstest.Outcomes(runs) != "ok ok" {
			t.Errorf("runs %+v, want two", runs)
		}
	})
}
