package jobs_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// contradicting is a store whose answers cannot be, while it is told so. It counts the calls that get one.
type contradicting struct {
	Store
	how   string
	wrong atomic.Bool
	calls atomic.Int64
}

func (s *contradicting) says(how string) bool {
	wrong := s.wrong.Load() && s.how == how
	if wrong && s.calls.Add(1) > 100_000 {
		s.wrong.Store(false) // who asks without a pause would never end in a bubble
	}
	return wrong
}

func (s *contradicting) Finish(ctx context.Context, finishes []Finish) []error {
	if s.says("completed") {
		return slices.Repeat([]error{ErrCompleted}, len(finishes))
	}
	return s.Store.Finish(ctx, finishes)
}

func (s *contradicting) Start(ctx context.Context, starts []Start) []error {
	if s.says("gone") {
		return slices.Repeat([]error{ErrGone}, len(starts))
	}
	return s.Store.Start(ctx, starts)
}

func (s *contradicting) Claim(ctx context.Context, claims []Claim) []Claimed {
	answers := s.Store.Claim(ctx, claims)
	for i := range answers {
		switch {
		case s.says("nothing"):
			answers[i] = Claimed{}
		case s.says("no time"):
			answers[i].Now = time.Time{}
		case s.says("unknown status"):
			answers[i].Status = 8
		case s.says("unknown job"):
			answers[i].Status = ClaimUnknown
		case s.says("taken"):
			answers[i] = Claimed{Status: ClaimTaken, Cursor: claims[i].Prev, Now: answers[i].Now}
		case s.says("early"):
			answers[i].Status, answers[i].Cursor = ClaimEarly, claims[i].Prev
		}
	}
	return answers
}

func (s *contradicting) Look(ctx context.Context, jobs []string) (View, error) {
	view, err := s.Store.Look(ctx, jobs)
	if s.says("no time") {
		view.Now = time.Time{}
	}
	return view, err
}

func (s *contradicting) Heartbeat(ctx context.Context, b Heartbeat) (HeartbeatReply, error) {
	reply, err := s.Store.Heartbeat(ctx, b)
	if s.says("heartbeat without time") {
		reply.Now = time.Time{}
	}
	return reply, err
}

// A store that contradicts itself is asked with pauses, as one that fails. Err says so, Run ends in time while it lasts,
// and jobs run when it is over.
func TestScheduler_contradictingStore(t *testing.T) {
	t.Parallel()
	for how, text := range map[string]string{
		"completed": "does not end a run", "gone": "does not start a run", "nothing": "status 0", "no time": "what time it is",
		"unknown status": "status 8", "unknown job": "", "taken": "",
		"early": "", "heartbeat without time": "what time it is",
	} {
		for _, ends := range []bool{false, true} {
			t.Run(how, func(t *testing.T) {
				t.Parallel()
				jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
					store := &contradicting{Store: c.Store, how: how}
					n := c.Node(Config{Store: store, DrainTimeout: -1}, 0)
					n.MustAdd(Job{Name: "j", Spec: "*/10 * * * * *", Run: jobstest.Sleep(0)})
					n.Start()
					time.Sleep(15 * time.Second)
					store.wrong.Store(true)
					time.Sleep(20 * time.Second)
					if calls := store.calls.Load(); calls == 0 || calls > 100 {
						t.Errorf("%d calls with such an answer in 20 s, want some, with pauses", calls)
					}
					if err := n.Err(); text != "" && (err == nil || !strings.Contains(err.Error(), text)) {
						t.Errorf("Err = %v, want it to say %q", err, text)
					}
					if ends {
						n.Forgive()
						began := time.Now()
						if n.Stop(); time.Since(began) > 11*time.Second {
							t.Errorf("Run has ended %s after its context", time.Since(began))
						}
						return
					}
					store.wrong.Store(false)
					time.Sleep(time.Minute)
					if err := n.Err(); err != nil {
						t.Errorf("Err = %v when the store is whole", err)
					}
					c.Stop()
					last := c.Finished("j")
					if len(last) == 0 || time.Since(last[len(last)-1].Ended) > 11*time.Second {
						t.Errorf("the runs are %v, want them to go on", last)
					}
				})
			})
		}
	}
}

// A run that is made again under its ID is known to its node all the time: it hears of a cancellation.
func TestScheduler_Cancel_runMadeAgain(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		store := &contradicting{Store: c.Store, how: "gone"}
		store.wrong.Store(true)
		n := c.Node(Config{Store: store}, 0)
		n.MustAdd(Job{Name: "j", Spec: "0 * * * * *", Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(65 * time.Second)
		flights, err := c.Store.InFlight(t.Context())
		if err != nil || len(flights) != 1 || n.LiveRuns("j") != 1 {
			t.Fatalf("in flight are %+v, %v, and here %d; want one run", flights, err, n.LiveRuns("j"))
		}
		if err := n.Cancel(t.Context(), flights[0].Run.ID, "ann", "enough"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if got := jobstest.Outcomes(c.Finished("j")); got != "cancelled" {
			t.Errorf("the outcomes are %q, want the run to be cancelled", got)
		}
		store.wrong.Store(false)
		c.Stop()
	})
}
