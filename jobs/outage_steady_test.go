package jobs_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// When the part turns out to serve others, the blame passes to the jobs that it still refuses, and Err is never nil meanwhile.
// They stay named, those that are rare and give up, too.
func TestScheduler_Err_passesTheBlameOn(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"Claim", "Start", "Finish"} {
		for bad := 1; bad <= 4; bad += rounds(1, 3) {
			for _, misfire := range []Misfire{MisfireOnce, MisfireSkip} {
				t.Run(fmt.Sprint(call, " of ", bad, " ", misfire), func(t *testing.T) {
					t.Parallel()
					jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
						var fails atomic.Bool
						var log testsync.Log
						n := c.Node(Config{Logger: log.Logger(), Store: &fussy{c.Store, func(what, job, _ string) error {
							if fails.Load() && what == call && job != "good" {
								return errFussy
							}
							return nil
						}}}, 0)
						n.MustAdd(Job{Name: "good", Spec: "0 */10 * * * *", Run: jobstest.Sleep(0)})
						for i, spec := range []string{eachSecond, each10, eachMinute, eachMinute}[:bad] {
							n.MustAdd(Job{Name: fmt.Sprint("bad", i), Spec: spec, Misfire: misfire, Run: jobstest.Sleep(0)})
						}
						n.Start()
						time.Sleep(55 * time.Second)
						fails.Store(true)
						time.Sleep(15 * time.Second)
						said := []string{""}
						for range 12 * 60 * 10 / rounds(1, 5) {
							if who := whoIsBlamed(n.Err()); who != said[len(said)-1] {
								said = append(said, who)
							}
							time.Sleep(time.Duration(rounds(1, 5)) * 100 * time.Millisecond)
						}
						c.Stop()
						if got := strings.Join(said[1:], " "); got != "store job" {
							t.Errorf("Err blamed %q, want the store until the good job is served, and then the others", got)
						}
						for _, want := range []string{"unavailable;", "available again"} {
							if got := strings.Count(log.String(), want); got != 1 {
								t.Errorf("the log says %d times %q:\n%s", got, want, log.String())
							}
						}
					})
				})
			}
		}
	}
}

// A failure of the locks is another one when nobody has asked for any in between, as Err says.
func TestScheduler_Err_locksAwayEachHour(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var log testsync.Log
		n := c.Node(Config{Logger: log.Logger()}, 0)
		n.MustAdd(Job{Name: "hourly", Spec: "0 0 * * * *", Misfire: MisfireSkip, Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(time.Hour - time.Second)
		for hour := 1; hour <= 3; hour++ {
			n.CutLocks(true)
			time.Sleep(time.Minute)
			want := fmt.Sprintf("store of locks unavailable since 2000-01-01T%02d:00:0", hour)
			if err := n.Err(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Err = %v, want %s", err, want)
			}
			n.CutLocks(false)
			time.Sleep(10 * time.Minute)
			if err := n.Err(); err != nil {
				t.Errorf("Err = %v, of what nobody has asked for in ten minutes", err)
			}
			time.Sleep(49 * time.Minute)
		}
		c.Stop()
		if got := strings.Count(log.String(), "store of locks unavailable;"); got != 3 {
			t.Errorf("the log tells of %d outages, want 3:\n%s", got, log.String())
		}
	})
}

// The store refuses all claims for some seconds, again and again. Jobs are not blamed for long, also not by a node that does
// not ask again for those that it was refused, or loses them to others: such a one cannot tell at once.
func TestScheduler_Err_shortOutages(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 2, 3} {
		for _, many := range []int{20, 100} {
			t.Run(fmt.Sprint(nodes, " nodes, ", many, " jobs"), func(t *testing.T) {
				t.Parallel()
				jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
					began := time.Now()
					for range nodes {
						n := c.Node(Config{Store: &fussy{c.Store, func(call, _, _ string) error {
							at := time.Since(began).Milliseconds()
							if call == "Claim" && (at > 53500 && at < 58000 || at > 64000 && at < 68000 || at > 77000 && at < 81000) {
								return errFussy
							}
							return nil
						}}}, 0)
						for j := range many {
							n.MustAdd(Job{Name: fmt.Sprint("j", j), Spec: eachSecond, Run: jobstest.Sleep(0)})
						}
						n.Start()
					}
					blamed := make([]time.Duration, nodes)
					for range 1500 {
						time.Sleep(100 * time.Millisecond)
						for i, n := range c.Nodes() {
							if whoIsBlamed(n.Err()) == "job" {
								blamed[i] += 100 * time.Millisecond
							}
						}
					}
					c.Stop()
					for i, d := range blamed {
						if d > 20*time.Second || nodes == 1 && d > 0 {
							t.Errorf("node %d blames jobs for %s", i, d)
						}
					}
				})
			})
		}
	}
}
