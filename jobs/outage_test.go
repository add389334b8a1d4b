package jobs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// readOnly is a store that answers reads and, while it is full, refuses writes.
type readOnly struct {
	Store
	full atomic.Bool
}

var errFull = errors.New("database or disk is full")

func (s *readOnly) refuses() error {
	if s.full.Load() {
		return errFull
	}
	return nil
}

func (s *readOnly) Register(ctx context.Context, r Registration) (View, error) {
	if err := s.refuses(); err != nil {
		return View{}, err
	}
	return s.Store.Register(ctx, r)
}

func (s *readOnly) Claim(ctx context.Context, claims []Claim) []Claimed {
	if err := s.refuses(); err != nil {
		return slices.Repeat([]Claimed{{Err: err}}, len(claims))
	}
	return s.Store.Claim(ctx, claims)
}

func (s *readOnly) Heartbeat(ctx context.Context, b Heartbeat) (HeartbeatReply, error) {
	if err := s.refuses(); err != nil {
		return HeartbeatReply{}, err
	}
	return s.Store.Heartbeat(ctx, b)
}

// A store that is read and not written is down for as long as that lasts, once and since then, whatever is read meanwhile.
func TestScheduler_Err_readOnlyStore(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		store := &readOnly{Store: c.Store}
		var log testsync.Log
		n := c.Node(Config{Store: store, Logger: log.Logger()}, 0)
		n.MustAdd(Job{Name: "j", Spec: "* * * * * *", Misfire: MisfireAll, MisfireCap: 1000, Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(10 * time.Second)
		store.full.Store(true)
		time.Sleep(10 * time.Second)
		first := n.Err()
		if !errors.Is(first, errFull) {
			t.Fatalf("Err = %v while nothing can be written", first)
		}
		for range 200 {
			time.Sleep(97 * time.Millisecond)
			if err := n.Err(); err == nil || err.Error() != first.Error() {
				t.Errorf("Err = %v, want for as long as it lasts what it said first: %v", err, first)
				break
			}
		}
		store.full.Store(false)
		time.Sleep(20 * time.Second)
		if err := n.Err(); err != nil {
			t.Errorf("Err = %v when it takes writes again", err)
		}
		c.Stop()
		for _, want := range []string{"job store unavailable", "job store available again"} {
			if got := strings.Count(log.String(), want); got != 1 {
				t.Errorf("the log says %d times %q, want once:\n%s", got, want, log.String())
			}
		}
	})
}
