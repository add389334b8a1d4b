package jobs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// Runs that cannot begin for want of their locks are a failure, though the store of jobs does all that it is asked for.
func TestScheduler_Err_storeOfLocksAway(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(n *jobstest.Node, on bool){
		"refuses":   (*jobstest.Node).CutLocks,
		"is silent": (*jobstest.Node).SilenceLocks,
	} {
		t.Run(name, func(t *testing.T) {
			jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
				var log testsync.Log
				n := c.Node(Config{Logger: log.Logger()}, 0)
				for i, spec := range []string{"* * * * * *", "*/20 * * * * *"} {
					n.MustAdd(Job{Name: "often" + string(rune('0'+i)), Spec: spec, Run: jobstest.Sleep(0)})
				}
				n.Start()
				time.Sleep(10 * time.Second)
				trouble(n, true)
				time.Sleep(25 * time.Second)
				for range 100 {
					if err := n.Err(); err == nil || !strings.Contains(err.Error(), "store of locks unavailable since 2000-01-01T00:00:1") {
						t.Errorf("Err = %v, want it to tell of the store of locks for as long as it lasts", err)
						break
					}
					time.Sleep(470 * time.Millisecond)
				}
				trouble(n, false)
				time.Sleep(20 * time.Second)
				if err := n.Err(); err != nil {
					t.Errorf("Err = %v when it is there again", err)
				}
				c.Stop()
				for _, want := range []string{"store of locks unavailable;", "store of locks available again"} {
					if got := strings.Count(log.String(), want); got != 1 {
						t.Errorf("the log says %d times %q, want once:\n%s", got, want, log.String())
					}
				}
			})
		})
	}
}

// Nobody may ask for locks for hours. What was said then counts for 90 s.
func TestScheduler_Err_locksNotAskedForAgain(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "hourly", Spec: "@every 1h", Misfire: MisfireSkip, Grace: 10 * time.Second, Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(30 * time.Minute)
		n.CutLocks(true)
		var from, to time.Duration
		for began := time.Now(); time.Since(began) < time.Hour; time.Sleep(time.Second) {
			if err := n.Err(); errors.Is(err, jobstest.ErrCut) {
				if to = time.Since(began); from == 0 {
					from = to
				}
			}
		}
		if lasted := to - from; from == 0 || lasted < 85*time.Second || lasted > 105*time.Second {
			t.Errorf("Err told of the locks for %s, want 90 s and as long as they were asked for", lasted)
		}
		n.CutLocks(false)
		c.Stop()
	})
}

// That a lock is held is an answer.
func TestScheduler_Err_locksHeld(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		nodes := []*jobstest.Node{c.Node(Config{}, 0), c.Node(Config{}, 0)}
		for _, n := range nodes {
			n.MustAdd(Job{Name: "long", Spec: "* * * * * *", Run: jobstest.Sleep(90 * time.Second)})
			n.Start()
		}
		for range 600 {
			time.Sleep(time.Second)
			for _, n := range nodes {
				if err := n.Err(); err != nil {
					t.Errorf("Err = %v", err)
				}
			}
		}
		c.Stop()
	})
}
