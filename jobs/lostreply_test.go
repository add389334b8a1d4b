package jobs_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_lostReply_ofTheRecord loses the answer to the record of a run, one that failed and the one that made up
// for it: each is told of once, and the retry is made once.
func TestScheduler_lostReply_ofTheRecord(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var starts atomic.Int32
		n := c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "j", Spec: "1 1 * * *", Retries: 5, Run: func(context.Context) error {
			n.DropReplies(1)
			if starts.Add(1) == 1 {
				return errors.New("at first")
			}
			return nil
		}})
		n.Start()
		time.Sleep(2 * time.Hour)
		c.Stop()
		if got := jobstest.Outcomes(c.Finished("j")); got != "error ok" || starts.Load() != 2 {
			t.Errorf("told of %q after %d starts, want an error and its retry", got, starts.Load())
		}
		if got := jobstest.Outcomes(c.Recorded("j")); got != "ok error" {
			t.Errorf("recorded, latest first: %q, want %q", got, "ok error")
		}
	})
}

// TestScheduler_endedBeforeTheRelease makes the release of the lock take some seconds: they are not the run's.
func TestScheduler_endedBeforeTheRelease(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "j", Spec: "1 1 * * *", Run: func(ctx context.Context) error {
			err := jobstest.Sleep(time.Minute)(ctx)
			n.Freeze()
			time.AfterFunc(2*time.Second, n.Thaw)
			return err
		}})
		n.Start()
		time.Sleep(2 * time.Hour)
		c.Stop()
		runs := c.Finished("j")
		if jobstest.Outcomes(runs) != "ok" ||
			runs[0].Ended.Sub(runs[0].Started).Round(time.Millisecond) != time.Minute {
			t.Errorf("runs %+v, want one that took a minute", runs)
		}
	})
}

// cancelOnStart is a store that has somebody cancel a run in the moment in which its begin is noted.
type cancelOnStart struct {
	Store
	cancel func(run string)
}

func (s *cancelOnStart) Start(ctx context.Context, starts []Start) []error {
	errs := s.Store.Start(ctx, starts)
	s.cancel(starts[0].Run.ID)
	return errs
}

// TestScheduler_cancelledAsItBegins checks that such a run does not begin, and that it is on record.
func TestScheduler_cancelledAsItBegins(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		store := &cancelOnStart{Store: c.Store}
		n := c.Node(Config{Store: store}, 0)
		store.cancel = func(run string) {
			if err := n.Cancel(context.Background(), run, "ada", "just in time"); err != nil {
				t.Error(err)
			}
		}
		n.MustAdd(Job{Name: "j", Spec: "1 1 * * *", Retries: 3, Run: func(context.Context) error {
			t.Error("it began")
			return nil
		}})
		n.Start()
		time.Sleep(2 * time.Hour)
		c.Stop()
		runs := c.Recorded("j")
		if jobstest.Outcomes(runs) != "cancelled" ||
			!strings.Contains(runs[0].Reason, "just in time, before it began") {
			t.Errorf("runs %+v, want one cancelled before it began", runs)
		}
	})
}
