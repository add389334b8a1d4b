package jobs_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// A failure is the store's or a job's, and for as long as it lasts it is told as that of the same, whichever nodes serve the
// others, however often the job is asked for, and whether it works now and then.
func TestScheduler_Err_namesTheSameAllTheTime(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		nodes      int
		good, bad  string                                  // schedules
		fails      func(node int, call string, n int) bool // n counts the calls of that kind for the job, from 0
		heartbeats bool                                    // they are asked about, too
		resume     bool
		told       string // what Err says; empty: nothing is needed
	}{
		"claims, on all nodes, and the job was resumed": {
			nodes: 3, good: "* * * * * *", bad: "*/5 * * * * *", resume: true, told: `claims of job "bad"`,
			fails: func(_ int, call string, _ int) bool { return call == "Claim" },
		},
		"claims, on nodes that win few of the others, and the job was resumed": {
			nodes: 5, good: "*/5 * * * * *", bad: "*/5 * * * * *", resume: true, told: `claims of job "bad"`,
			fails: func(_ int, call string, _ int) bool { return call == "Claim" },
		},
		"every claim of one node, served elsewhere": {
			nodes: 3, good: "* * * * * *", bad: "*/5 * * * * *",
			fails: func(node int, call string, _ int) bool { return call == "Claim" && node == 1 },
		},
		"starts, on nodes that run little else": {
			nodes: 5, good: "*/5 * * * * *", bad: "*/5 * * * * *",
			fails: func(_ int, call string, _ int) bool { return call == "Start" },
		},
		"ends, on nodes that run little else": {
			nodes: 5, good: "*/5 * * * * *", bad: "*/5 * * * * *",
			fails: func(_ int, call string, _ int) bool { return call == "Finish" },
		},
		"two of three claims": {
			nodes: 1, good: "* * * * * *", bad: "*/5 * * * * *", told: `claims of job "bad"`,
			fails: func(_ int, call string, n int) bool { return call == "Claim" && n%3 != 2 },
		},
		"every other sign of life": {
			nodes: 1, good: "* * * * * *", bad: "*/5 * * * * *", heartbeats: true, told: "unavailable",
			fails: func(_ int, call string, n int) bool { return call == "Heartbeat" && n%2 == 0 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
				logs := make([]testsync.Log, of.nodes)
				for i := range of.nodes {
					store := &counting{Store: c.Store, fails: func(call string, n int) bool { return of.fails(i, call, n) }}
					n := c.Node(Config{Logger: logs[i].Logger(), Store: store}, 0)
					n.MustAdd(Job{Name: "good", Spec: of.good, Run: jobstest.Sleep(0)})
					n.MustAdd(Job{Name: "bad", Spec: of.bad, Run: jobstest.Sleep(0)})
					n.Start()
				}
				time.Sleep(30 * time.Second)
				if n := c.Nodes()[0]; of.resume {
					if err := n.Pause(t.Context(), "bad", "ada", ""); err != nil {
						t.Fatal(err)
					}
					time.Sleep(5 * time.Second)
					if err := n.Resume(t.Context(), "bad", "ada"); err != nil {
						t.Fatal(err)
					}
					time.Sleep(5 * time.Second)
				}
				for range 5 * 60 * 10 {
					time.Sleep(100 * time.Millisecond)
					for _, n := range c.Nodes() {
						err := n.Err()
						if of.told != "" && (err == nil || !strings.Contains(err.Error(), of.told)) {
							t.Fatalf("%s: Err = %v, want all the time %q", n.Name(), err, of.told)
						}
					}
				}
				c.Stop()
				for i := range logs {
					most := 0
					if of.heartbeats {
						most = 2 // it is known to come and go with the second
					}
					if text := logs[i].String(); strings.Count(text, "store unavailable") > most {
						t.Errorf("node %d has told of outages:\n%s", i, text)
					}
				}
			})
		})
	}
}

// counting is a store that fails for the job "bad", and in signs of life, as often as fails says.
type counting struct {
	Store
	fails func(call string, n int) bool

	mu sync.Mutex
	n  map[string]int
}

func (s *counting) refuses(call string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == nil {
		s.n = make(map[string]int)
	}
	n := s.n[call]
	if s.n[call]++; s.fails(call, n) {
		return errFussy
	}
	return nil
}

func (s *counting) minds(call, job, _ string) error {
	if job != "bad" {
		return nil
	}
	return s.refuses(call)
}

func (s *counting) Claim(ctx context.Context, claims []Claim) []Claimed {
	return (&fussy{s.Store, s.minds}).Claim(ctx, claims)
}

func (s *counting) Start(ctx context.Context, starts []Start) []error {
	return (&fussy{s.Store, s.minds}).Start(ctx, starts)
}

func (s *counting) Finish(ctx context.Context, finishes []Finish) []error {
	return (&fussy{s.Store, s.minds}).Finish(ctx, finishes)
}

func (s *counting) Heartbeat(ctx context.Context, b Heartbeat) (HeartbeatReply, error) {
	if err := s.refuses("Heartbeat"); err != nil {
		return HeartbeatReply{}, err
	}
	return s.Store.Heartbeat(ctx, b)
}

// The log is not told of each of many one-off jobs that fail.
func TestScheduler_log_manyOneOffsFail(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var log testsync.Log
		n := c.Node(Config{Logger: log.Logger(), Store: &fussy{c.Store, func(call, _, id string) error {
			if call == "Claim" && strings.HasPrefix(id, "bad") {
				return errFussy
			}
			return nil
		}}}, 0)
		if err := n.AddHandler(Handler{Name: "mail", Run: func(context.Context, string, []byte) error { return nil }}); err != nil {
			t.Fatal(err)
		}
		n.Start()
		for i := range 200 {
			for _, id := range []string{"bad", "good"} {
				if err := n.At(t.Context(), "mail", fmt.Sprint(id, i), time.Now(), nil); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Second)
		}
		if err := n.Err(); err == nil || !strings.Contains(err.Error(), "and 199 more") {
			t.Errorf("Err = %v, want it to count 200 failures", err)
		}
		c.Stop()
		if got := strings.Count(log.String(), "fails for this job"); got == 0 || got > 10 {
			t.Errorf("%d lines in the log, want 1 to 10", got)
		}
	})
}
