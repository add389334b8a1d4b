package jobs_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// TestScheduler_longJob has a job that outlives its interval and its TTL: the lock is renewed, two never run at once,
// and the ticks in between say who was in the way.
func TestScheduler_longJob(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var running, most atomic.Int32
		for range 3 {
			n := c.Node(Config{}, 0)
			n.MustAdd(Job{Name: "j", Spec: "* * * * *", Lock: lockrt.Options{TTL: 10 * time.Second},
				Run: func(ctx context.Context) error {
					most.Store(max(most.Load(), running.Add(1)))
					defer running.Add(-1)
					return jobstest.Sleep(150 * time.Second)(ctx)
				}})
			n.Start()
		}
		time.Sleep(6*time.Minute + 40*time.Second) // ticks at 1 … 6 min; the runs of 1 and 4 end
		c.Stop()
		runs := c.Finished("j")
		if got, want := jobstest.Outcomes(runs), "ok skipped skipped ok skipped skipped"; got != want ||
			most.Load() != 1 {
			t.Fatalf("outcomes %q, want %q; %d at once, want 1", got, want, most.Load())
		}
		if !strings.Contains(runs[1].Reason, `lock "job:j" is held by `+runs[0].Node) {
			t.Errorf("reason %q, want one that names %s", runs[1].Reason, runs[0].Node)
		}
		recorded := c.Recorded("j")
		if got, want := jobstest.Outcomes(recorded), "ok skipped ok skipped"; got != want {
			t.Fatalf("records %q, want %q", got, want)
		}
		if r := recorded[1]; r.Ticks != 2 || !r.First.Equal(runs[4].Tick) || !r.Tick.Equal(runs[5].Tick) ||
			r.ID != runs[4].ID {
			t.Errorf("record %+v, want one of both ticks, under the ID of the first", r)
		}
		if runs[3].Fence <= runs[0].Fence || runs[0].Fence == 0 {
			t.Errorf("fences %d then %d, want them to grow", runs[0].Fence, runs[3].Fence)
		}
	})
}

// TestScheduler_overlapQueue lets a run wait for the one before: they do not overlap, and their records do not either,
// though each is on what its node takes for the store's time.
func TestScheduler_overlapQueue(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var running, most atomic.Int32
		for range 2 {
			n := c.Node(Config{DrainTimeout: time.Hour}, 0)
			n.MustAdd(Job{Name: "j", Spec: "0-2 * * * *", Overlap: OverlapQueue, Run: func(ctx context.Context) error {
				most.Store(max(most.Load(), running.Add(1)))
				defer running.Add(-1)
				return jobstest.Sleep(100 * time.Second)(ctx)
			}})
			n.Start()
		}
		time.Sleep(10 * time.Minute)
		c.Stop()
		runs := c.Finished("j")
		// 00:00 is before the first sight
		if got, want := jobstest.Outcomes(runs), "ok ok"; got != want || most.Load() != 1 {
			t.Fatalf("outcomes %q, want %q; %d at once, want 1", got, want, most.Load())
		}
		if runs[1].Started.Before(runs[0].Ended) {
			t.Errorf("second started at %s, before the first ended at %s", runs[1].Started, runs[0].Ended)
		}
	})
}

// TestScheduler_overlapQueue_bounded checks that a job slower than its schedule does not pile up without end.
func TestScheduler_overlapQueue_bounded(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{DrainTimeout: -1, History: 10000}, 0)
		n.MustAdd(Job{Name: "j", Spec: "* * * * * *", Overlap: OverlapQueue, Run: jobstest.Sleep(time.Hour)})
		n.Start()
		time.Sleep(5 * time.Minute)
		if live := n.LiveRuns("j"); live > MaxWaiting {
			t.Errorf("%d runs in flight, want %d at most", live, MaxWaiting)
		}
		c.Stop()
		runs := c.Finished("j")
		if last := runs[len(runs)-1]; last.Outcome != OutcomeSkipped ||
			!strings.Contains(last.Reason, "too many runs") {
			t.Errorf("last run %+v, want it skipped for too many", last)
		}
	})
}

func TestScheduler_overlapReplace(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var cause atomic.Value
		for range 2 {
			n := c.Node(Config{}, 0)
			n.MustAdd(Job{Name: "j", Spec: "1,2 * * * *", Overlap: OverlapReplace, Retries: 3,
				Run: func(ctx context.Context) error {
					err := jobstest.Sleep(100 * time.Second)(ctx)
					if err != nil {
						cause.Store(err)
					}
					return err
				}})
			n.Start()
		}
		time.Sleep(10 * time.Minute)
		c.Stop()
		runs := c.Finished("j")
		if got, want := jobstest.Outcomes(runs), "cancelled ok"; got != want {
			t.Fatalf("outcomes %q, want %q", got, want)
		}
		if err, _ := cause.Load().(error); !errors.Is(err, lockrt.ErrLost) ||
			!strings.HasPrefix(runs[0].Reason, "replaced by the run of tick 2000-01-01T00:02:00Z, on node n") {
			t.Errorf("cause %v, reason %q; want ErrLost and who replaced it", cause.Load(), runs[0].Reason)
		}
	})
}

func TestScheduler_overlapAllow(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		for range 2 { // no lock tells the one that the other is at work: the renewed claim must
			n := c.Node(Config{}, 0)
			n.MustAdd(Job{Name: "j", Spec: "1,2 * * * *", Overlap: OverlapAllow, Run: func(ctx context.Context) error {
				if lockrt.FromContext(ctx) != nil {
					t.Error("a lock is held, want none")
				}
				return jobstest.Sleep(100 * time.Second)(ctx)
			}})
			n.Start()
		}
		time.Sleep(10 * time.Minute)
		c.Stop()
		runs := c.Finished("j")
		if got, want := jobstest.Outcomes(runs), "ok ok"; got != want || !runs[1].Started.Before(runs[0].Ended) {
			t.Fatalf("outcomes %q, want %q, overlapping", got, want)
		}
	})
}

// TestScheduler_context checks what the work finds in its context.
func TestScheduler_context(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{Heartbeat: time.Minute}, 0)
		n.MustAdd(Job{Name: "j", Spec: "0 3 * * *", TZ: "Asia/Tokyo", Keys: []string{"b", "a"},
			Run: func(ctx context.Context) error {
				job, tick, ok := TickFromContext(ctx)
				if got := tick.String(); !ok || job != "j" || got != "2000-01-02 03:00:00 +0900 JST" {
					t.Errorf("TickFromContext = %s, %s, %v", job, got, ok)
				}
				if err := errors.Join(lockrt.AssertHeld(ctx, "a"), lockrt.AssertHeld(ctx, "b")); err != nil {
					t.Error(err)
				}
				if live := n.LiveRuns("j"); live != 1 {
					t.Errorf("%d live runs, want 1", live)
				}
				return nil
			}})
		n.Start()
		time.Sleep(24 * time.Hour)
		locks := n.Locker()
		if held, err := locks.List(context.Background(), ""); err != nil || len(held) != 0 {
			t.Errorf("locks after the run: %v, %v", held, err)
		}
		c.Stop()
		if got := jobstest.Outcomes(c.Finished("j")); got != "ok" {
			t.Errorf("outcomes %q, want ok", got)
		}
		if _, _, ok := TickFromContext(context.Background()); ok {
			t.Error("TickFromContext of no job says ok")
		}
	})
}

// TestScheduler_lockLost breaks the lock in mid-run, as an operator would.
func TestScheduler_lockLost(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Run: func(ctx context.Context) error {
			<-ctx.Done()
			return nil // it ignores the loss; the record must not
		}})
		n.Start()
		time.Sleep(90 * time.Second)
		if err := n.Locker().Break(context.Background(), "job:j", "test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		c.Stop()
		if runs := c.Finished("j"); jobstest.Outcomes(runs) != "lost" || !strings.Contains(runs[0].Reason, "test") {
			t.Errorf("runs %+v, want one lost with the reason", runs)
		}
	})
}
