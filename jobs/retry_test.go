package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// TestScheduler_retryFindsTheLockHeld has somebody else hold the job's lock when a failed tick is to be tried again: it
// comes back until it gets the lock, and is given up after a minute or so.
func TestScheduler_retryFindsTheLockHeld(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		held time.Duration
		want string // the records, first to last
	}{
		{20 * time.Second, "1 error, 2 error, 3 error"},
		{time.Hour, "1 error, 2 skipped"},
	} {
		t.Run(fmt.Sprint(c.held), func(t *testing.T) {
			jobstest.Run(t, func(t *testing.T, cl *jobstest.Cluster) {
				n := cl.Node(Config{}, 0)
				n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Keys: []string{"k"}, Retries: 2,
					Run: func(context.Context) error {
						return errors.New("as always")
					}})
				n.Start()
				time.Sleep(time.Minute + 500*time.Millisecond) // it has failed once
				lease, err := n.Locker().Acquire(t.Context(), "k", lockrt.Options{TTL: 30 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(c.held)
				if err := lease.Release(t.Context()); err != nil {
					t.Error(err)
				}
				time.Sleep(5 * time.Minute)
				var got []string
				for _, r := range cl.Finished("j") {
					if r.Tick.Minute() != 1 || r.Tick.Hour() != 0 {
						continue
					}
					got = append(got, fmt.Sprint(r.Attempt, " ", r.Outcome))
					waited := r.Ended.Sub(r.Claimed)
					if r.Outcome == OutcomeSkipped &&
						(!strings.Contains(r.Reason, `lock "k" is held by n0; so it was each of the `) ||
							waited < time.Minute || waited > 2*time.Minute) {
						t.Errorf("after %s: %q, want it to say how often it was tried", waited, r.Reason)
					}
				}
				if s := strings.Join(got, ", "); s != c.want {
					t.Errorf("recorded %q, want %q", s, c.want)
				}
				cl.Stop()
			})
		})
	}
}

// TestScheduler_retryHeldWhileTheNodeStops shuts the node down while a retry waits for its lock: another node makes it.
func TestScheduler_retryHeldWhileTheNodeStops(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var ran atomic.Int32
		for range 2 {
			n := c.Node(Config{}, 0)
			n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Keys: []string{"k"}, Retries: 2,
				Run: func(context.Context) error {
					if ran.Add(1) == 1 {
						return errors.New("for once")
					}
					return nil
				}})
		}
		first, second := c.Nodes()[0], c.Nodes()[1]
		first.Start()
		time.Sleep(time.Minute + 500*time.Millisecond)
		lease, err := second.Locker().Acquire(t.Context(), "k", lockrt.Options{TTL: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		second.Start()
		time.Sleep(3 * time.Second)
		first.Stop()
		time.Sleep(15 * time.Second)
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		runs := c.Finished("j")
		if got := jobstest.Outcomes(runs); got != "error ok" || runs[1].Attempt != 2 || runs[1].Node != "n1" {
			t.Errorf("%s: %+v, want the retry on n1", got, runs)
		}
		c.Stop()
	})
}
