package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_misfire stops all nodes for half an hour, and has a job of every policy catch up.
func TestScheduler_misfire(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		up := func() []*jobstest.Node {
			var nodes []*jobstest.Node
			for range 3 {
				n := c.Node(Config{}, 0)
				for _, m := range []Misfire{MisfireSkip, MisfireOnce, MisfireAll} {
					n.MustAdd(Job{Name: string(m), Spec: "*/10 * * * *", Misfire: m, Run: jobstest.Sleep(time.Second)})
				}
				n.Start()
				nodes = append(nodes, n)
			}
			return nodes
		}
		first := up()
		time.Sleep(15 * time.Minute) // the tick of minute 10
		for _, n := range first {
			n.Stop()
		}
		time.Sleep(30 * time.Minute) // 20, 30, 40
		second := up()
		time.Sleep(10 * time.Minute) // 50
		for _, n := range second {
			n.Stop()
		}
		for job, want := range map[string]string{
			"skip": "10 ok schedule, 40 skipped misfire, 50 ok schedule",
			"once": "10 ok schedule, 30 skipped misfire, 40 ok misfire, 50 ok schedule",
			"all":  "10 ok schedule, 20 ok misfire, 30 ok misfire, 40 ok misfire, 50 ok schedule",
		} {
			var got []string
			runs := c.Finished(job)
			for _, r := range runs {
				got = append(got, fmt.Sprint(r.Tick.Minute(), " ", r.Outcome, " ", r.Trigger))
				if r.Outcome == OutcomeSkipped &&
					(!strings.HasPrefix(r.Reason, "misfire: ") || r.First.Minute() != 20 ||
						r.Ticks != int64(r.Tick.Minute()/10-1)) {
					t.Errorf("%s: %+v, want all ticks from minute 20 on for a misfire", job, r)
				}
			}
			if s := strings.Join(got, ", "); s != want {
				t.Errorf("%s: %s, want %s", job, s, want)
			}
			runs = slices.DeleteFunc(runs, func(r Run) bool { return r.Outcome == OutcomeSkipped })
			byStart := slices.SortedFunc(slices.Values(runs),
				func(a, b Run) int { return a.Started.Compare(b.Started) })
			for i := range byStart[1:] {
				if last, next := byStart[i], byStart[i+1]; next.Started.Before(last.Ended) ||
					next.Tick.Before(last.Tick) {
					t.Errorf("%s: after that of tick %s until %s began a run of tick %s at %s", job, last.Tick,
						last.Ended, next.Tick, next.Started)
				}
			}
		}
	})
}

// TestScheduler_misfireAll_inOrder has ten nodes catch up with missed ticks, of which each fails at first, and one
// kills its node: they run one after another, the oldest first, retries between, without waiting for longer than they
// must.
func TestScheduler_misfireAll_inOrder(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var mu sync.Mutex
		var ticks []time.Time
		up := func() {
			n := c.Node(Config{DrainTimeout: -1}, 0)
			j := Job{Name: "j", Spec: "* * * * *", Misfire: MisfireAll, Overlap: OverlapAllow, Retries: 1}
			j.Run = func(ctx context.Context) error {
				_, tick, _ := TickFromContext(ctx)
				if tick.After(jobstest.Start.Add(20 * time.Minute)) {
					return nil // on time, beside the others
				}
				mu.Lock()
				ticks = append(ticks, tick.UTC())
				count := len(ticks)
				mu.Unlock()
				if count == 9 {
					n.Crash()
				}
				if err := jobstest.Sleep(time.Second)(ctx); err != nil || count%2 == 1 {
					return errors.New("at first it fails")
				}
				return nil
			}
			n.MustAdd(j)
			n.Start()
		}
		up()
		time.Sleep(time.Second)
		c.Stop()
		time.Sleep(20*time.Minute + 30*time.Second)
		for range 10 {
			up()
		}
		time.Sleep(100 * time.Second) // 20 times a second, a second of backoff, and a second; and the dead node's lease
		c.Stop()
		var want []time.Time
		for _, tick := range c.Ticks("* * * * *", jobstest.Start, jobstest.Start.Add(20*time.Minute+40*time.Second)) {
			want = append(want, tick, tick)
		}
		if got := ticks[:min(len(ticks), len(want))]; !slices.Equal(got, want) {
			t.Errorf("began %v, want each twice, in order", got)
		}
	})
}

// TestScheduler_misfireAll_wakes checks that the end of a run wakes the next at once, and that the end of a run of a
// dead node, of which nobody tells, is noticed soon.
func TestScheduler_misfireAll_wakes(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var starts atomic.Int32
		up := func() {
			n := c.Node(Config{DrainTimeout: -1}, 0)
			n.MustAdd(Job{Name: "j", Spec: "* * * * *", Misfire: MisfireAll, Overlap: OverlapAllow,
				Run: func(ctx context.Context) error {
					if starts.Add(1) == 20 {
						n.Crash()
					}
					return jobstest.Sleep(100 * time.Millisecond)(ctx)
				}})
			n.Start()
		}
		up()
		time.Sleep(time.Second)
		c.Stop()
		time.Sleep(40*time.Minute + 10*time.Second)
		up()
		up()
		time.Sleep(20 * time.Second) // 40 times 100 ms, and the dead node's lease
		c.Stop()
		if n := starts.Load(); n != 40 {
			t.Errorf("%d of 40 missed ticks have run", n)
		}
	})
}

// TestScheduler_firstStart checks that a job seen for the first time owes nothing, and that a restart across a tick
// runs it.
func TestScheduler_firstStart_andRestartAcrossTheMinute(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		time.Sleep(23*time.Hour + 90*time.Second)
		from := time.Now()
		for range 5 { // up for 40 s, down for 5 s, so that a tick falls into some of the pauses
			n := c.Node(Config{}, 0)
			n.MustAdd(Job{Name: "j", Spec: "* * * * *", Run: jobstest.Sleep(time.Second)})
			n.Start()
			time.Sleep(40 * time.Second)
			n.Stop()
			time.Sleep(5 * time.Second)
		}
		c.ExpectOnce("j", "* * * * *", from, time.Now().Add(-10*time.Second))
	})
}

// TestScheduler_scheduleEnds checks that a schedule without further ticks is left alone.
func TestScheduler_scheduleEnds(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		last := time.Now().Add(90 * time.Second)
		n.MustAdd(Job{Name: "j", Schedule: once(last), Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(time.Hour)
		if next := n.Jobs()[0].Next; !next.IsZero() {
			t.Errorf("Next = %s after the last tick", next)
		}
		c.Stop()
		if runs := c.Finished("j"); jobstest.Outcomes(runs) != "ok" || !runs[0].Tick.Equal(last) {
			t.Errorf("runs %+v, want one at %s", runs, last)
		}
	})
}

type once time.Time

func (o once) Next(t time.Time) time.Time {
	if t.Before(time.Time(o)) {
		return time.Time(o)
	}
	return time.Time{}
}
