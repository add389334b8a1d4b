package jobs_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_misfireAll_comesBack has a job whose runs take longer than its period miss three ticks: they are made
// up for, and the ticks after them are on time, or skipped because an earlier run has the lock.
func TestScheduler_misfireAll_comesBack(t *testing.T) {
	t.Parallel()
	for _, overlap := range []Overlap{OverlapSkip, OverlapAllow} {
		jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
			for range 3 {
				n := c.Node(Config{}, 0)
				n.MustAdd(Job{Name: "j", Spec: "* * * * *", Misfire: MisfireAll, Overlap: overlap,
					Run: jobstest.Sleep(90 * time.Second)})
				n.Start()
			}
			from := time.Now()
			time.Sleep(5 * time.Minute)
			c.Outage(true)
			time.Sleep(3*time.Minute + 30*time.Second)
			c.Outage(false)
			back := time.Now()
			time.Sleep(20 * time.Minute)
			to := time.Now().Add(-2 * time.Minute)
			c.Stop()
			recorded := make(map[time.Time]bool)
			for _, r := range c.Recorded("j") {
				for tick := r.Tick; !tick.Before(r.First) &&
					(tick.Equal(r.Tick) || !r.First.IsZero()); tick = tick.Add(-time.Minute) {
					recorded[tick] = true
				}
				if late := r.Started.Sub(r.Tick); r.Tick.After(back) && !r.Started.IsZero() && late > 11*time.Second {
					t.Errorf("%s: tick %s began %s late", overlap, r.Tick, late)
				}
				if missed := r.Tick.After(from.Add(5*time.Minute)) && r.Tick.Before(back); missed &&
					r.Outcome != OutcomeOK {
					t.Errorf("%s: missed tick %s: %s, %s; want it made up for", overlap, r.Tick, r.Outcome, r.Reason)
				}
			}
			for _, tick := range c.Ticks("* * * * *", from, to) {
				if !recorded[tick] {
					t.Errorf("%s: tick %s has no record", overlap, tick)
				}
			}
		})
	}
}

// TestScheduler_lateWithinGrace has five jobs a second of every kind, and a store that is silent for eight seconds: no
// tick is dropped because the one before it began in the same moment.
func TestScheduler_lateWithinGrace(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		misfires := []Misfire{MisfireAll, MisfireAll, MisfireAll, MisfireOnce, MisfireSkip}
		for range 3 {
			n := c.Node(Config{History: 1000}, 0)
			for i, m := range misfires {
				n.MustAdd(Job{Name: fmt.Sprint("j", i), Spec: "* * * * * *", Misfire: m, Grace: 30 * time.Second,
					Run: jobstest.Sleep(100 * time.Millisecond)})
			}
			n.Start()
		}
		from := time.Now()
		time.Sleep(30 * time.Second)
		for range 5 {
			c.Outage(true)
			time.Sleep(8 * time.Second)
			c.Outage(false)
			time.Sleep(30 * time.Second)
		}
		time.Sleep(500 * time.Millisecond) // between two ticks
		to := time.Now()
		c.Stop()
		for i := range misfires {
			c.ExpectOnce(fmt.Sprint("j", i), "* * * * * *", from, to)
		}
	})
}

// TestScheduler_flushDuringCatchUp has the store forget all while missed ticks are caught up: a node hears of it by a
// claim before its next heartbeat, and still knows what is owed.
func TestScheduler_flushDuringCatchUp(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		begun := make(map[time.Time]int) // read when all is over
		var runs atomic.Int32
		n := c.Node(Config{Heartbeat: 30 * time.Second}, 0)
		n.MustAdd(Job{Name: "j", Spec: "* * * * *", Misfire: MisfireAll, Run: func(ctx context.Context) error {
			_, tick, _ := TickFromContext(ctx)
			begun[tick]++
			runs.Add(1)
			time.Sleep(5 * time.Second)
			return nil
		}})
		n.Start()
		time.Sleep(61 * time.Second)
		from := time.Now()
		c.Outage(true)
		time.Sleep(20 * time.Minute)
		c.Outage(false)
		for runs.Load() < 8 {
			time.Sleep(time.Second)
		}
		c.Flush()
		time.Sleep(time.Hour)
		to := time.Now()
		c.Stop()
		for _, tick := range c.Ticks("* * * * *", from, to) {
			if begun[tick] != 1 {
				t.Errorf("tick %s has begun %d times", tick, begun[tick])
			}
		}
	})
}
