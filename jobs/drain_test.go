package jobs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

var lockOptions = lockrt.Options{TTL: 30 * time.Second}

// TestScheduler_drainLetsRunsFinish, cancels those that take too long, and leaves no lock behind.
func TestScheduler_drain(t *testing.T) {
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
			bubble(t, func(t *testing.T, cl *cluster) {
				n := cl.node(Config{DrainTimeout: c.timeout}, 0)
				n.add(Job{Name: "j", Spec: "1 * * * *", Run: sleepFor(c.takes)})
				n.start()
				time.Sleep(time.Minute + time.Second)
				n.cancel()
				began := time.Now()
				<-n.ended
				if took := time.Since(began); n.err != nil || took > c.within {
					t.Errorf("Run = %v after %s, want nil within %s", n.err, took, c.within)
				}
				held, err := n.locks.List(context.Background(), "")
				if runs := cl.stored("j"); outcomes(runs) != c.want || err != nil || len(held) != 0 {
					t.Errorf("runs %+v, locks %v, %v; want one %s and no lock", runs, held, err, c.want)
				}
				if err := n.Add(Job{Name: "late", Spec: "@daily", Run: sleepFor(0)}); err == nil {
					t.Error("Add after the end succeeded")
				}
				cl.stop()
			})
		})
	}
}

// TestScheduler_drainPassesOn checks that a run that waits for its lock, and one that waits for its retry, go over to
// another node when theirs shuts down.
func TestScheduler_drainPassesOn(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		b := &body{takes: time.Second}
		first := c.node(Config{}, 0)
		lease, err := first.locks.Acquire(context.Background(), "job:queued", lockOptions)
		if err != nil {
			t.Fatal(err)
		}
		jobs := func(n *node, fail error) {
			n.add(Job{Name: "queued", Spec: "1 * * * *", Overlap: OverlapQueue, Run: b.on(n)})
			n.add(Job{Name: "failing", Spec: "1 * * * *", Retries: 9, Run: func(context.Context) error { return fail }})
			n.add(Job{Name: "cancelled", Spec: "1 * * * *", Retries: 9, Run: func(ctx context.Context) error {
				if fail == nil {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			}})
			n.start()
		}
		first.cfg.DrainTimeout = 0
		jobs(first, errors.New("here it fails"))
		time.Sleep(time.Minute + 10*time.Second)
		first.cancel()
		<-first.ended
		if err := lease.Release(context.Background()); err != nil {
			t.Fatal(err)
		}
		second := c.node(Config{}, 0)
		jobs(second, nil)
		time.Sleep(time.Minute)
		c.stop()
		for job, want := range map[string]string{"queued": "ok", "failing": "error error error error ok", "cancelled": "cancelled ok"} {
			runs := c.runs(job)
			last := runs[len(runs)-1]
			if got := outcomes(runs); got != want || last.Node != second.cfg.Node || last.Trigger != TriggerRecovery || last.Attempt != len(runs) {
				t.Errorf("%s: %q, want %q; last %+v", job, got, want, last)
			}
		}
	})
}

// TestScheduler_drainEndsWithoutTheRun has work that ignores its context: Run returns all the same, and says so.
func TestScheduler_drainEndsWithoutTheRun(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		n := c.node(Config{}, 0)
		n.add(Job{Name: "deaf", Spec: "1 * * * *", Run: func(context.Context) error { time.Sleep(10 * time.Minute); return nil }})
		n.start()
		time.Sleep(time.Minute + time.Second)
		n.cancel()
		<-n.ended
		if n.err == nil || !strings.Contains(n.err.Error(), `["deaf"]`) {
			t.Errorf("Run = %v, want an error that names the job", n.err)
		}
		n.err = nil
		time.Sleep(10 * time.Minute)
		c.stop()
	})
}
