package jobs

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
)

func TestMemoryStore(t *testing.T) {
	testStore(t, func(*testing.T) Store { return NewMemoryStore() })
}

func TestRedisStore(t *testing.T) {
	server := testenv.Redis(t)
	n := 0
	testStore(t, func(t *testing.T) Store {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { client.Close() })
		n++
		return NewRedisStore(client, fmt.Sprintf("n{%d}", n))
	})
}

// testStore is the conformance suite: the comments of Store, each as a test.
func testStore(t *testing.T, open func(*testing.T) Store) {
	for name, test := range map[string]func(*testing.T, *storeTester){
		"look gives a new job the present as its mark": testLookNew,
		"claim moves the mark once":                    testClaimOnce,
		"claim is won by one of many":                  testClaimRace,
		"claim refuses what is too early":              testClaimEarly,
		"claim may be repeated":                        testClaimRepeated,
		"claim records what is skipped":                testClaimSkipped,
		"start and renew keep a claim":                 testStartRenew,
		"finish records once":                          testFinish,
		"finish of an orphan waits for its lease":      testFinishOrphan,
		"finish without outcome passes on":             testFinishPassOn,
		"runs are capped, latest first":                testRunsCapped,
		"names keep apart":                             testNames,
		"a context that has ended changes nothing":     testEndedContext,
	} {
		t.Run(name, func(t *testing.T) { test(t, &storeTester{t: t, Store: open(t)}) })
	}
}

type storeTester struct {
	Store
	t *testing.T
}

func (s *storeTester) look(job string) (JobView, time.Time) {
	s.t.Helper()
	v, err := s.Look(context.Background(), []string{job})
	if err != nil {
		s.t.Fatal(err)
	}
	return v.Jobs[0], v.Now
}

// claim makes one claim and checks its status.
func (s *storeTester) claim(c Claim, want ClaimStatus) Claimed {
	s.t.Helper()
	got := s.Claim(context.Background(), []Claim{c})
	if len(got) != 1 || got[0].Err != nil || got[0].Status != want {
		s.t.Fatalf("Claim = %+v, want status %d", got, want)
	}
	return got[0]
}

// nextClaim builds a claim of the tick 1 µs after the mark, due already.
func (s *storeTester) nextClaim(job, id string) Claim {
	s.t.Helper()
	v, _ := s.look(job)
	tick := v.Mark.Add(time.Microsecond)
	return Claim{Job: job, Prev: v.Mark, Tick: tick, Due: v.Mark, Lease: time.Minute, Keep: 3,
		Pending: &Pending{Locker: "L", Run: Run{ID: id, Job: job, Tick: tick, Node: "n1", Attempt: 1, Trigger: TriggerSchedule}}}
}

func (s *storeTester) runs(job string) []Run {
	s.t.Helper()
	runs, err := s.Runs(context.Background(), job, 100)
	if err != nil {
		s.t.Fatal(err)
	}
	return runs
}
