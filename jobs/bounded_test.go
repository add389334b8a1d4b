package jobs_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// deafStore is a store whose client does not look at contexts: while it is away calls take 20 s, and then fail.
type deafStore struct {
	Store
	away atomic.Bool
}

var errIOTimeout = errors.New("i/o timeout")

func (s *deafStore) answer() error {
	if s.away.Load() {
		time.Sleep(20 * time.Second)
		return errIOTimeout
	}
	return nil
}

// WhySilent is what the store knows of it.
func (s *deafStore) WhySilent() string { return "its disk may be full" }

func (s *deafStore) Look(ctx context.Context, jobs []string) (View, error) {
	if err := s.answer(); err != nil {
		return View{}, err
	}
	return s.Store.Look(ctx, jobs)
}

func (s *deafStore) Claim(ctx context.Context, claims []Claim) []Claimed {
	if err := s.answer(); err != nil {
		return make([]Claimed, len(claims))
	}
	return s.Store.Claim(ctx, claims)
}

func (s *deafStore) Put(ctx context.Context, o OneOff) error       { return errors.Join(s.answer()) }
func (s *deafStore) Withdraw(ctx context.Context, id string) error { return errors.Join(s.answer()) }

func (s *deafStore) Nodes(ctx context.Context) ([]Node, error) { return nil, s.answer() }

func (s *deafStore) List(ctx context.Context, q ListQuery) (ListPage, error) {
	return ListPage{}, s.answer()
}

func (s *deafStore) InFlight(ctx context.Context) ([]InFlight, error) { return nil, s.answer() }

func (s *deafStore) Failures(ctx context.Context, limit int) ([]Run, error) { return nil, s.answer() }

func (s *deafStore) Runs(ctx context.Context, jobs []string, limit int) ([][]Run, error) {
	return make([][]Run, len(jobs)), s.answer()
}

func (s *deafStore) Waiting(ctx context.Context, limit int) ([]OneOff, error) {
	return nil, s.answer()
}

// TestScheduler_contextEnds asks a store whose client does not look at contexts for everything: each call ends with its
// context, and says so.
func TestScheduler_contextEnds(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		store := &deafStore{Store: c.Store}
		n := c.Node(Config{Store: store}, 0)
		at := time.Now().Add(time.Hour)
		store.away.Store(true)
		for name, call := range map[string]func(context.Context) error{
			"At":            func(ctx context.Context) error { return n.At(ctx, "h", "id", at, nil) },
			"Withdraw":      func(ctx context.Context) error { return n.Withdraw(ctx, "id") },
			"Pause":         func(ctx context.Context) error { return n.Pause(ctx, "j", "ada", "") },
			"Resume":        func(ctx context.Context) error { return n.Resume(ctx, "j", "ada") },
			"RunNow":        func(ctx context.Context) error { _, err := n.RunNow(ctx, "j", "ada"); return err },
			"RunAgain":      func(ctx context.Context) error { _, err := n.RunAgain(ctx, "j@1", "ada"); return err },
			"FindRun":       func(ctx context.Context) error { _, err := n.FindRun(ctx, "j@1"); return err },
			"Cancel":        func(ctx context.Context) error { return n.Cancel(ctx, "j@1", "ada", "") },
			"Runs":          func(ctx context.Context) error { _, err := n.Runs(ctx, "j", 1); return err },
			"RecentRuns":    func(ctx context.Context) error { _, err := n.RecentRuns(ctx, 1, "j"); return err },
			"RunningRuns":   func(ctx context.Context) error { _, err := n.RunningRuns(ctx); return err },
			"Failures":      func(ctx context.Context) error { _, err := n.Failures(ctx, 1); return err },
			"Nodes":         func(ctx context.Context) error { _, err := n.Nodes(ctx); return err },
			"Status":        func(ctx context.Context) error { _, err := n.Status(ctx, "j"); return err },
			"ClusterJobs":   func(ctx context.Context) error { _, err := n.ClusterJobs(ctx); return err },
			"ClusterStatus": func(ctx context.Context) error { _, err := n.ClusterStatus(ctx, "j"); return err },
			"JobPage": func(ctx context.Context) error {
				_, err := n.JobPage(ctx, JobQuery{Limit: 1})
				return err
			},
			"CountJobs": func(ctx context.Context) error { _, err := n.CountJobs(ctx); return err },
			"Waiting":   func(ctx context.Context) error { _, err := n.Waiting(ctx, 1); return err },
		} {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			began := time.Now()
			err := call(ctx)
			if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 200*time.Millisecond {
				t.Errorf("%s: %v after %s, want the end of its context after 100ms", name, err, took)
			}
			cancel()
		}
		time.Sleep(time.Minute) // what was given up ends
		store.away.Store(false)
		c.Stop()
	})
}

// A call that is given up says what the store knows of why, unless it is the caller who has left.
func TestBounded_why(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &deafStore{}
		store.away.Store(true)
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		left, leave := context.WithCancel(t.Context())
		leave()
		for ctx, want := range map[context.Context]string{
			late: "the job store has not answered (its disk may be full): context deadline exceeded",
			left: "the job store has not answered: context canceled",
		} {
			if err := Bounded(store).Put(ctx, OneOff{}); !errors.Is(err, ctx.Err()) || err.Error() != want {
				t.Errorf("%v, want %q", err, want)
			}
		}
		time.Sleep(time.Minute) // what was given up ends
	})
}

// TestScheduler_silentPart asks all parts of a store without a time limit, while one of them does not answer: what the
// other says comes soon.
func TestScheduler_silentPart(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx := context.Background()
		n := c.Node(Config{Store: &silentPart{Store: c.Store}}, 0)
		for name, call := range map[string]func() error{
			"RunningRuns": func() error { _, err := n.RunningRuns(ctx); return err },
			"Failures":    func() error { _, err := n.Failures(ctx, 1); return err },
		} {
			began := time.Now()
			err := call()
			var parts *PartsError
			if took := time.Since(began); !errors.As(err, &parts) || took > 3*time.Second {
				t.Errorf("%s: %v after %s, want a PartsError within 3s", name, err, took)
			}
		}
		c.Stop()
	})
}

// silentPart is a store of two parts, one of which does not answer.
type silentPart struct{ Store }

func (s *silentPart) Parts() int            { return 2 }
func (s *silentPart) PartOf(job string) int { return 0 }

// answer takes its time after the end, as it may on a busy machine.
func (s *silentPart) answer(ctx context.Context) error {
	<-ctx.Done()
	time.Sleep(200 * time.Millisecond)
	return &PartsError{Parts: []int{1}, Of: 2, Err: ctx.Err()}
}

func (s *silentPart) InFlight(ctx context.Context) ([]InFlight, error) { return nil, s.answer(ctx) }

func (s *silentPart) Failures(ctx context.Context, limit int) ([]Run, error) {
	return nil, s.answer(ctx)
}
