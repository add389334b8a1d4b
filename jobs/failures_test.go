package jobs_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// The tests of this file are the ways in which other schedulers fail. More of them are TestScheduler_threeNodesApart,
// _clocksApart, _longJob, _drain, _storeDown, _storeOfLocksDown, _outcomes and _twoVersionsOfASpec.

// TestScheduler_killedUnderALongLease kills a node in mid-run whose lock has a TTL of 12 hours: with ShedLock the job
// stands still for as long.
func TestScheduler_killedUnderALongLease(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		b := &body{takes: time.Minute, during: func(n *jobstest.Node, start int) {
			if start == 1 {
				n.Crash()
			}
		}}
		for range 3 {
			n := c.Node(Config{}, 0)
			n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Retries: 1, Lock: lockrt.Options{TTL: 12 * time.Hour},
				Run: b.on(n)})
			n.Start()
		}
		time.Sleep(10 * time.Minute)
		c.Stop()
		runs := c.Finished("j")
		if jobstest.Outcomes(runs) != "lost ok" || runs[1].Started.Sub(runs[0].Started) > 70*time.Second {
			t.Errorf("runs %+v, want a lost one, and its retry within about a minute", runs)
		}
	})
}

// TestScheduler_longLeaseNotRenewed checks that a TTL which was also to bound the run still does.
func TestScheduler_longLeaseNotRenewed(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		options := lockrt.Options{TTL: 10 * time.Minute, NoRenew: true}
		n.MustAdd(Job{Name: "j", Spec: "1 1 * * *", Lock: options, Run: jobstest.Sleep(time.Hour)})
		n.Start()
		time.Sleep(2 * time.Hour)
		c.Stop()
		runs := c.Finished("j")
		if jobstest.Outcomes(runs) != "lost" ||
			runs[0].Ended.Sub(runs[0].Started).Round(time.Minute) != 10*time.Minute {
			t.Errorf("runs %+v, want one that was stopped after ten minutes", runs)
		}
	})
}

// TestScheduler_jobsSharingAFunction: gocron locks the name of the function where a job has none, so that one of two
// jobs does not run. Here a job has to have a name, and two jobs two.
func TestScheduler_jobsSharingAFunction(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		shared := jobstest.Sleep(30 * time.Second)
		if err := n.Add(Job{Spec: "* * * * *", Run: shared}); err == nil || !strings.Contains(err.Error(), "no Name") {
			t.Errorf("Add of a job without a name = %v, want an error", err)
		}
		from := time.Now()
		n.MustAdd(Job{Name: "a", Spec: "* * * * *", Run: shared})
		n.MustAdd(Job{Name: "b", Spec: "* * * * *", Run: shared})
		n.Start()
		time.Sleep(5*time.Minute + 45*time.Second)
		to := time.Now()
		c.Stop()
		c.ExpectOnce("a", "* * * * *", from, to)
		c.ExpectOnce("b", "* * * * *", from, to)
	})
}

// TestScheduler_restartedMoreOftenThanThePeriod has a weekly job in a cluster that is deployed every day, and is down
// at the time of the job: schedulers that count from their start never run it.
func TestScheduler_restartedMoreOftenThanThePeriod(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		for day := range 15 {
			if day > 0 {
				time.Sleep(time.Hour) // down around midnight
			}
			n := c.Node(Config{Heartbeat: time.Minute}, 0)
			n.MustAdd(Job{Name: "weekly", Spec: "@weekly", Run: jobstest.Sleep(time.Minute)})
			n.MustAdd(Job{Name: "fortnight", Spec: "@every 336h", Run: jobstest.Sleep(time.Minute)})
			n.Start()
			time.Sleep(23 * time.Hour)
			n.Stop()
		}
		if runs := c.Finished("weekly"); jobstest.Outcomes(runs) != "ok ok" {
			t.Errorf("weekly: %+v, want two runs in two weeks", runs)
		}
		if runs := c.Finished("fortnight"); jobstest.Outcomes(runs) != "ok" {
			t.Errorf("fortnight: %+v, want one run in two weeks", runs)
		}
	})
}

// TestScheduler_moreThan100Missed has a job of every minute miss two days: Kubernetes gives such a job up.
func TestScheduler_moreThan100Missed(t *testing.T) {
	t.Parallel()
	for misfire, want := range map[Misfire]struct{ ran, missed int64 }{
		MisfireSkip: {1, 2880}, MisfireOnce: {1, 2880}, MisfireAll: {101, 2780},
	} {
		t.Run(string(misfire), func(t *testing.T) {
			jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
				var ran atomic.Int64
				up := func() *jobstest.Node {
					n := c.Node(Config{}, 0)
					n.MustAdd(Job{Name: "j", Spec: "* * * * *", Misfire: misfire, Run: func(context.Context) error {
						ran.Add(1)
						return nil
					}})
					n.Start()
					return n
				}
				n := up()
				time.Sleep(30 * time.Second)
				n.Stop()
				time.Sleep(48 * time.Hour)
				n = up()
				time.Sleep(time.Minute)
				st, err := n.Status(context.Background(), "j")
				if err != nil {
					t.Fatal(err)
				}
				got := struct{ ran, missed int64 }{ran.Load(), st[0].Missed}
				if fmt.Sprint(got) != fmt.Sprint(want) && misfire != MisfireOnce || got.ran+got.missed != 2881 {
					t.Errorf("%d ran and %d were missed, want %d and %d", got.ran, got.missed, want.ran, want.missed)
				}
				c.Stop()
			})
		})
	}
}
