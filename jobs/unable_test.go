package jobs_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// begins are when the ticks of jobs began.
type begins struct {
	mu sync.Mutex
	at map[string]map[time.Time][]time.Time
}

func (b *begins) work(ctx context.Context) error {
	job, tick, _ := TickFromContext(ctx)
	b.mu.Lock()
	if b.at[job] == nil {
		b.at[job] = make(map[time.Time][]time.Time)
	}
	b.at[job][tick.UTC()] = append(b.at[job][tick.UTC()], time.Now())
	b.mu.Unlock()
	return jobstest.Sleep(100 * time.Millisecond)(ctx)
}

// tally says how many of some ticks have not begun, and how many have begun late. None may have begun twice.
func (b *begins) tally(t *testing.T, job string, ticks []time.Time) (missing, late int) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, tick := range ticks {
		switch at := b.at[job][tick]; {
		case len(at) == 0:
			missing++
		case len(at) > 1:
			t.Errorf("tick %s of job %s began at %v", tick, job, at)
		case at[0].Sub(tick) > 2*time.Second:
			late++
		}
	}
	return missing, late
}

// Of one node alone the store does not take the begins of runs, though its claims and its signs of life. The others make
// its runs, each tick once; it neither holds the jobs up nor takes them again and again.
func TestScheduler_unableToBegin(t *testing.T) {
	t.Parallel()
	specs := map[string]string{"often": "* * * * * *", "seldom": "*/10 * * * * *"}
	for _, only := range []string{"Start", "Start Finish"} {
		t.Run(only, func(t *testing.T) {
			jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
				began := begins{at: make(map[string]map[time.Time][]time.Time)}
				store := &halfDown{Store: c.Store, why: errFull, only: only}
				for _, own := range []Store{store, c.Store, c.Store} {
					n := c.Node(Config{Store: own}, 0)
					for name, spec := range specs {
						n.MustAdd(Job{Name: name, Spec: spec, Misfire: MisfireAll, Run: began.work})
					}
					mail := func(ctx context.Context, _ string, _ []byte) error { return began.work(ctx) }
					if err := n.AddHandler(Handler{Name: "mail", Run: mail}); err != nil {
						t.Fatal(err)
					}
					n.Start()
				}
				mails := c.Ticks("3/5 * * * * *", jobstest.Start.Add(20*time.Second), jobstest.Start.Add(140*time.Second))
				for i, at := range mails {
					if err := c.Nodes()[1].At(t.Context(), "mail", fmt.Sprint(i), at, nil); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(20500 * time.Millisecond)
				from := time.Now()
				store.down.Store(true)
				healthy := 0
				for range 120 {
					time.Sleep(time.Second)
					if c.Nodes()[0].Err() == nil {
						healthy++
					}
				}
				if healthy > 60 { // it hears of it whenever it has won a claim
					t.Errorf("for %d s of 120 Err did not tell of what the node cannot do", healthy)
				}
				to := time.Now()
				time.Sleep(10 * time.Second)
				for name, ticks := range map[string][]time.Time{
					"often": c.Ticks(specs["often"], from, to), "seldom": c.Ticks(specs["seldom"], from, to), HandlerPrefix + "mail": mails,
				} {
					missing, late := began.tally(t, name, ticks)
					most := len(ticks) / 3
					if only != "Start" { // without the ends of its runs it keeps those that it has taken, but not the locks
						most = len(ticks) * 3 / 4
					}
					if late > most || missing > most || missing > 0 && only == "Start" {
						t.Errorf("%s: of %d ticks %d did not run, and %d were late", name, len(ticks), missing, late)
					}
				}
				store.down.Store(false)
				time.Sleep(20 * time.Second)
				to = time.Now()
				c.Stop()
				for name, spec := range specs {
					if began.tally(t, name, c.Ticks(spec, jobstest.Start, to)); only == "Start" {
						c.ExpectOnce(name, spec, jobstest.Start, to)
					}
				}
			})
		})
	}
}

// Where the other nodes do not fare better, a run goes round without being made twice, and begins soon after the store
// takes begins again.
func TestScheduler_unableToBegin_everywhere(t *testing.T) {
	t.Parallel()
	for _, lasts := range []time.Duration{7 * time.Second, 30 * time.Second, 3 * time.Minute} {
		jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
			began := begins{at: make(map[string]map[time.Time][]time.Time)}
			store := &halfDown{Store: c.Store, why: errFull, only: "Start"}
			for range 3 {
				n := c.Node(Config{Store: store}, 0)
				n.MustAdd(Job{Name: "j", Spec: "*/10 * * * * *", Misfire: MisfireAll, Overlap: OverlapQueue, Run: began.work})
				n.Start()
			}
			time.Sleep(19500 * time.Millisecond)
			store.down.Store(true)
			time.Sleep(lasts)
			store.down.Store(false)
			time.Sleep(25 * time.Second)
			to := time.Now()
			c.Stop()
			c.ExpectOnce("j", "*/10 * * * * *", jobstest.Start, to)
			began.tally(t, "j", c.Ticks("*/10 * * * * *", jobstest.Start, to))
			if first := began.at["j"][jobstest.Start.Add(20*time.Second)]; len(first) > 0 {
				if late := first[0].Sub(jobstest.Start.Add(19500*time.Millisecond + lasts)); late > 3*time.Second { // it may just have been passed on
					t.Errorf("the first tick began %s after an outage of %s", late, lasts)
				}
			}
		})
	}
}
