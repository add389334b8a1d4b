package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// lockedJob is a store in which a transaction has locked one job.
type lockedJob struct {
	Store
	locked string
}

func (s *lockedJob) Claim(ctx context.Context, claims []Claim) []Claimed {
	answers := make([]Claimed, len(claims))
	for i, c := range claims {
		if c.Job == s.locked {
			answers[i].Err = ErrLocked
		} else {
			answers[i] = s.Store.Claim(ctx, claims[i:i+1])[0]
		}
	}
	return answers
}

// TestScheduler_lockedJob checks that the store does not count as down for a job that is locked, and that others are on
// time.
func TestScheduler_lockedJob(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{Store: &lockedJob{c.Store, "stuck"}, History: 1000}, 0)
		for _, name := range []string{"stuck", "other"} {
			n.MustAdd(Job{Name: name, Spec: map[string]string{"stuck": "* * * * *", "other": "@every 1s"}[name],
				Run: func(context.Context) error { return nil }})
		}
		n.Start()
		for range 1800 {
			time.Sleep(100 * time.Millisecond)
			if err := n.Err(); errors.Is(err, ErrLocked) {
				t.Errorf("while a job is locked: %v", err)
				break
			}
		}
		c.Stop()
		for _, r := range c.Finished("other") {
			if late := r.Started.Sub(r.Tick); late > 500*time.Millisecond {
				t.Errorf("the tick %s of the other job began %s late", r.Tick, late)
			}
		}
		if n := len(c.Finished("other")); n < 175 {
			t.Errorf("%d ticks of the other job ran, want 180", n)
		}
	})
}
