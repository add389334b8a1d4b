package sqltest

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/sqlstore"
)

const (
	// manyEnv makes a child one of a burst: with so many jobs.
	manyEnv    = "LOCKGEN_JOBS_MANY"
	burstEvery = 4 * time.Second
)

// burst returns jobs that are all due at the same times. Each says its name and its tick when it begins. However late it
// is, no tick is left out.
func burst(many int) []jobs.Job {
	all := make([]jobs.Job, many)
	for i := range all {
		name := burstName(i)
		all[i] = jobs.Job{
			Name: name, Spec: "@every " + burstEvery.String(), Misfire: jobs.MisfireAll, Overlap: jobs.OverlapQueue,
			Run: func(ctx context.Context) error {
				_, tick, _ := jobs.TickFromContext(ctx)
				fmt.Println(began(name, tick))
				return nil
			},
		}
	}
	return all
}

func burstName(i int) string { return fmt.Sprint("job-", i) }

func began(job string, tick time.Time) string { return job + " " + strconv.FormatInt(tick.Unix(), 10) }

// TestStore_burst has three processes share jobs that are all due at the same times: each tick begins once, and none is
// left out.
func TestStore_burst(t *testing.T) {
	const many = 40
	engines(t, func(t *testing.T, e *engine) {
		p := newProcesses(t, e)
		p.env = []string{manyEnv + "=" + strconv.Itoa(many)}
		for range 3 {
			p.start()
		}
		for shared := make(map[string]bool); len(shared) < 3; {
			shared[p.next().node] = true
		}
		store, last := sqlstore.New(e.db, sqlstore.Config{}), time.Now().Truncate(burstEvery).Add(burstEvery)
		names := make([]string, many)
		for i := range names {
			names[i] = burstName(i)
		}
		testsync.Eventually(t, "all jobs have run at a tick that all nodes shared", func() bool {
			all, err := store.Runs(context.Background(), names, 1)
			if err != nil {
				t.Fatal(err)
			}
			for i, runs := range all {
				if len(runs) == 0 || runs[0].Tick.Before(last) {
					names = names[i:]
					time.Sleep(100 * time.Millisecond)
					return false
				}
			}
			return true
		})
		p.stop()
		p.judgeBurst(store, many, last)
	})
}

// judgeBurst holds what began against the records of all ticks until last. A node that the machine keeps from its
// heartbeats for long counts as dead. Its runs are recorded as lost, and may have begun or not.
func (p *processes) judgeBurst(store jobs.Store, many int, last time.Time) {
	t, lost := p.t, 0
	for what, n := range p.count {
		if n > 1 {
			t.Errorf("%s began %d times", what, n)
		}
	}
	for i := range many {
		name := burstName(i)
		all, err := store.Runs(context.Background(), []string{name}, 1000)
		if err != nil {
			t.Fatal(err)
		}
		next := all[0][len(all[0])-1].Tick // records are newest first
		known := make(map[time.Time]jobs.Outcome)
		for _, r := range all[0] {
			known[r.Tick] = r.Outcome
		}
		for ; !next.After(last); next = next.Add(burstEvery) {
			switch outcome := known[next]; {
			case outcome == jobs.OutcomeLost:
				lost++
			case outcome != jobs.OutcomeOK:
				t.Errorf("%s at %s is recorded as %q, not as run", name, next, outcome)
			case p.count[began(name, next)] != 1:
				t.Errorf("%s at %s is recorded as run, and began %d times", name, next, p.count[began(name, next)])
			}
		}
	}
	t.Logf("%d begins, %d runs of nodes that counted as dead", len(p.count), lost)
}
