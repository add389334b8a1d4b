package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// halfDown is a store that does some of what it is asked for and, while it is down, nothing else.
type halfDown struct {
	Store
	why  error
	only string        // some of Register, Claim, Start, Finish and Heartbeat; empty: no writes at all
	slow time.Duration // how long it takes to refuse, in which other calls are answered
	down atomic.Bool

	refused atomic.Int64 // how many calls
}

var errFull = errors.New("database or disk is full")

func (s *halfDown) refuses(call string) error {
	if s.down.Load() && (s.only == "" || strings.Contains(s.only, call)) {
		s.refused.Add(1)
		time.Sleep(s.slow)
		return s.why
	}
	return nil
}

func (s *halfDown) Register(ctx context.Context, r Registration) (View, error) {
	if err := s.refuses("Register"); err != nil {
		return View{}, err
	}
	return s.Store.Register(ctx, r)
}

func (s *halfDown) Claim(ctx context.Context, claims []Claim) []Claimed {
	if err := s.refuses("Claim"); err != nil {
		return slices.Repeat([]Claimed{{Err: err}}, len(claims))
	}
	return s.Store.Claim(ctx, claims)
}

func (s *halfDown) Start(ctx context.Context, starts []Start) []error {
	if err := s.refuses("Start"); err != nil {
		return slices.Repeat([]error{err}, len(starts))
	}
	return s.Store.Start(ctx, starts)
}

func (s *halfDown) Finish(ctx context.Context, finishes []Finish) []error {
	if err := s.refuses("Finish"); err != nil {
		return slices.Repeat([]error{err}, len(finishes))
	}
	return s.Store.Finish(ctx, finishes)
}

func (s *halfDown) Heartbeat(ctx context.Context, b Heartbeat) (HeartbeatReply, error) {
	if err := s.refuses("Heartbeat"); err != nil {
		return HeartbeatReply{}, err
	}
	return s.Store.Heartbeat(ctx, b)
}

// A store that does not do all of what it is asked for is down for as long as that lasts, once and since then, whatever
// else it does meanwhile.
func TestScheduler_Err_halfDownStore(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]*halfDown{
		"is read only":                  {why: errFull},
		"takes no new runs":             {why: errFull, only: "Claim"},
		"takes no new runs, slowly":     {why: errFull, only: "Claim", slow: 2500 * time.Millisecond},
		"takes no begins of runs":       {why: errFull, only: "Start"},
		"takes no ends of runs":         {why: errFull, only: "Finish"},
		"takes no signs of life":        {why: errFull, only: "Heartbeat"},
		"is locked by somebody for all": {why: fmt.Errorf("jobs: %w", ErrLocked), only: "Claim"},
	} {
		t.Run(name, func(t *testing.T) { errOfHalfDown(t, store) })
	}
}

func errOfHalfDown(t *testing.T, store *halfDown) {
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		store.Store = c.Store
		var log testsync.Log
		n := c.Node(Config{Store: store, Logger: log.Logger()}, 0)
		n.MustAdd(Job{Name: "j", Spec: "* * * * * *", Misfire: MisfireAll, MisfireCap: 1000, Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(10 * time.Second)
		store.down.Store(true)
		time.Sleep(20 * time.Second)
		first := n.Err()
		if !errors.Is(first, store.why) {
			t.Fatalf("Err = %v while the store says %v", first, store.why)
		}
		for range 200 {
			time.Sleep(97 * time.Millisecond)
			if err := n.Err(); err == nil || err.Error() != first.Error() {
				t.Errorf("Err = %v, want for as long as it lasts what it said first: %v", err, first)
				break
			}
		}
		store.down.Store(false)
		time.Sleep(20 * time.Second)
		if err := n.Err(); err != nil {
			t.Errorf("Err = %v when it is up again", err)
		}
		c.Stop()
		for _, want := range []string{"job store unavailable", "job store available again"} {
			if got := strings.Count(log.String(), want); got != 1 {
				t.Errorf("the log says %d times %q, want once:\n%s", got, want, log.String())
			}
		}
	})
}

// Locks of a moment, each time somebody asks, are no outage, however often they come.
func TestScheduler_Err_lockedNowAndThen(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		store := &lockedOnce{Store: c.Store}
		var log testsync.Log
		n := c.Node(Config{Store: store, Logger: log.Logger()}, 0)
		n.MustAdd(Job{Name: "j", Spec: "@every 20s", Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(5 * time.Second) // it is known then
		if err := n.Pause(t.Context(), "j", "test", "no run shows that claims are taken"); err != nil {
			t.Fatal(err)
		}
		for range 20 * 60 {
			time.Sleep(time.Second)
			if err := n.Err(); err != nil {
				t.Errorf("Err = %v, of a lock of a moment", err)
				break
			}
		}
		c.Stop()
		if strings.Contains(log.String(), "unavailable") {
			t.Errorf("the log:\n%s", log.String())
		}
	})
}

// lockedOnce has every other claim locked.
type lockedOnce struct {
	Store
	n atomic.Int32
}

func (s *lockedOnce) Claim(ctx context.Context, claims []Claim) []Claimed {
	if s.n.Add(1)%2 == 1 {
		return slices.Repeat([]Claimed{{Err: ErrLocked}}, len(claims))
	}
	return s.Store.Claim(ctx, claims)
}
