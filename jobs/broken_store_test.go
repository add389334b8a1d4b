package jobs_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// brokenStore breaks the contract of a Store in one call, as long as it is told to.
type brokenStore struct {
	Store
	breaks atomic.Bool
	call   string
	how    func()
}

// broken makes the store fail in a call. It reports whether the answer is to be one element short.
func (s *brokenStore) broken(call string) bool {
	if !s.breaks.Load() || s.call != call {
		return false
	}
	if s.how != nil {
		s.how()
	}
	return true
}

func short[T any](all []T, yes bool) []T {
	if yes {
		return all[:len(all)-1]
	}
	return all
}

func (s *brokenStore) Claim(ctx context.Context, claims []Claim) []Claimed {
	yes := s.broken("Claim")
	if yes {
		return make([]Claimed, len(claims)-1)
	}
	return s.Store.Claim(ctx, claims)
}

func (s *brokenStore) Start(ctx context.Context, starts []Start) []error {
	return short(s.Store.Start(ctx, starts), s.broken("Start"))
}

func (s *brokenStore) Finish(ctx context.Context, finishes []Finish) []error {
	return short(s.Store.Finish(ctx, finishes), s.broken("Finish"))
}

func (s *brokenStore) Look(ctx context.Context, jobs []string) (View, error) {
	yes := s.broken("Look")
	view, err := s.Store.Look(ctx, jobs)
	view.Jobs = short(view.Jobs, yes)
	return view, err
}

func (s *brokenStore) Register(ctx context.Context, r Registration) (View, error) {
	yes := s.broken("Register")
	view, err := s.Store.Register(ctx, r)
	view.Jobs = short(view.Jobs, yes)
	return view, err
}

func (s *brokenStore) Heartbeat(ctx context.Context, b Heartbeat) (HeartbeatReply, error) {
	s.broken("Heartbeat")
	return s.Store.Heartbeat(ctx, b)
}

// A store that panics, ends its goroutine or leaves out answers has failed: Err says so, the process goes on, and no tick
// is lost.
func TestScheduler_brokenStore(t *testing.T) {
	t.Parallel()
	for how, f := range map[string]func(){
		"panics": func() { panic("index out of range in the driver") }, "exits": runtime.Goexit, "leaves out": nil,
	} {
		for _, call := range []string{"Claim", "Start", "Finish", "Look", "Register", "Heartbeat"} {
			if call == "Heartbeat" && f == nil {
				continue // it answers for no elements
			}
			t.Run(call+" "+how, func(t *testing.T) {
				t.Parallel()
				jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
					store := &brokenStore{Store: c.Store, call: call, how: f}
					n := c.Node(Config{Store: store}, 0)
					for i := range 3 {
						n.MustAdd(Job{Name: fmt.Sprint("job", i), Spec: "*/10 * * * * *", Misfire: MisfireAll, Run: jobstest.Sleep(0)})
					}
					store.breaks.Store(call == "Register")
					n.Start()
					time.Sleep(25 * time.Second)
					store.breaks.Store(true)
					time.Sleep(25 * time.Second)
					switch err := n.Err(); {
					case call == "Look": // nobody has asked for it
					case err == nil || !strings.Contains(err.Error(), "the job store"):
						t.Errorf("Err = %v, want what the store has done", err)
					}
					store.breaks.Store(false)
					time.Sleep(5 * time.Minute)
					if err := n.Err(); err != nil {
						t.Errorf("Err = %v when the store works again", err)
					}
					c.Stop()
					for i := range 3 {
						name := fmt.Sprint("job", i)
						if runs := len(c.Finished(name)); runs < 28 {
							t.Errorf("%d runs of %s in 350 s, want one each 10 s", runs, name)
						}
					}
				})
			})
		}
	}
}
