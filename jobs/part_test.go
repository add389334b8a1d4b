package jobs_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// partlyAway is a store of which the part with the jobs that begin with "bad" can be taken away.
type partlyAway struct {
	Store
	away atomic.Bool
}

func (s *partlyAway) Claim(ctx context.Context, claims []Claim) []Claimed {
	results := s.Store.Claim(ctx, claims)
	for i, c := range claims {
		if s.away.Load() && strings.HasPrefix(c.Job, "bad") {
			results[i] = Claimed{Err: context.DeadlineExceeded}
		}
	}
	s.hang(ctx, claims[0].Job)
	return results
}

// hang waits for an answer that does not come.
func (s *partlyAway) hang(ctx context.Context, job string) {
	if s.away.Load() && strings.HasPrefix(job, "bad") {
		<-ctx.Done()
	}
}

func (s *partlyAway) Look(ctx context.Context, names []string) (View, error) {
	for _, name := range names {
		if s.away.Load() && strings.HasPrefix(name, "bad") {
			s.hang(ctx, name)
			return View{}, ctx.Err()
		}
	}
	return s.Store.Look(ctx, names)
}

// TestScheduler_partOfTheStoreAway takes a part of the store away: the jobs of the others run on time.
func TestScheduler_partOfTheStoreAway(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		store := &partlyAway{Store: c.Store}
		for range 2 {
			n := c.Node(Config{Store: store}, 0)
			for _, name := range []string{"bad1", "bad2", "good1", "good2"} {
				n.MustAdd(Job{Name: name, Spec: "* * * * * *", Run: jobstest.Sleep(10 * time.Millisecond)})
			}
			n.Start()
		}
		time.Sleep(10 * time.Second)
		store.away.Store(true)
		from := time.Now().Add(time.Millisecond)
		time.Sleep(time.Minute)
		to := time.Now().Add(-500 * time.Millisecond)
		store.away.Store(false)
		time.Sleep(10 * time.Second)
		c.Stop()
		for _, name := range []string{"good1", "good2"} {
			ticks := make(map[time.Time]bool)
			for _, r := range c.Finished(name) {
				ticks[r.Tick] = true
				if late := r.Started.Sub(r.Tick); late > 3100*time.Millisecond { // one call for all, at first
					t.Errorf("%s: tick %s began %s late", name, r.Tick, late)
				}
			}
			for _, tick := range c.Ticks("* * * * * *", from, to) {
				if !ticks[tick] {
					t.Errorf("%s: tick %s was missed", name, tick)
				}
			}
		}
	})
}
