package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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

func testLookNew(t *testing.T, s *storeTester) {
	v, now := s.look("j")
	if apart := now.Sub(time.Now()).Abs(); apart > time.Hour || v.Mark.After(now) || now.Sub(v.Mark) > time.Minute || len(v.Claims) != 0 {
		t.Fatalf("Look of a new job = %+v at %s, want its mark to be that time", v, now)
	}
	if again, _ := s.look("j"); !again.Mark.Equal(v.Mark) {
		t.Fatalf("the mark moved from %s to %s by looking", v.Mark, again.Mark)
	}
	if none, err := s.Look(context.Background(), nil); err != nil || none.Now.Before(now) {
		t.Fatalf("Look of no jobs = %+v, %v, want the time, after %s", none, err, now)
	}
}

func testClaimOnce(t *testing.T, s *storeTester) {
	c := s.nextClaim("j", "a")
	if got := s.claim(c, ClaimWon); !got.Mark.Equal(c.Tick) {
		t.Fatalf("mark after the claim = %s, want %s", got.Mark, c.Tick)
	}
	other := c
	other.Pending = &Pending{Run: Run{ID: "b", Job: "j"}}
	if got := s.claim(other, ClaimTaken); !got.Mark.Equal(c.Tick) {
		t.Fatalf("mark in the refusal = %s, want %s", got.Mark, c.Tick)
	}
	other.Tick = c.Tick.Add(time.Microsecond) // another version of the spec, not aware of c
	s.claim(other, ClaimTaken)
	v, _ := s.look("j")
	if len(v.Claims) != 1 || v.Claims[0].Run.ID != "a" || !v.Claims[0].Run.Tick.Equal(c.Tick) || v.Claims[0].Locker != "L" || v.Claims[0].Left < 50*time.Second {
		t.Fatalf("claims = %+v, want a alone with nearly a minute left", v.Claims)
	}
}

func testClaimRace(t *testing.T, s *storeTester) {
	c := s.nextClaim("j", "")
	var wg sync.WaitGroup
	won := make(chan string, 50)
	for i := range cap(won) {
		mine := c
		p := *c.Pending
		p.Run.ID = fmt.Sprint("r", i)
		mine.Pending = &p
		wg.Go(func() {
			if got := s.Claim(context.Background(), []Claim{mine})[0]; got.Status == ClaimWon {
				won <- p.Run.ID
			} else if got.Status != ClaimTaken {
				t.Errorf("Claim = %+v, want won or taken", got)
			}
		})
	}
	wg.Wait()
	v, _ := s.look("j")
	if len(won) != 1 || len(v.Claims) != 1 || v.Claims[0].Run.ID != <-won {
		t.Fatalf("%d of 50 won one tick, in flight are %+v", len(won), v.Claims)
	}
}

func testClaimEarly(t *testing.T, s *storeTester) {
	c := s.nextClaim("j", "a")
	c.Due = c.Tick.Add(time.Hour)
	got := s.claim(c, ClaimEarly)
	if !got.Mark.Equal(c.Prev) || !got.Now.Before(c.Due) {
		t.Fatalf("Claim = %+v, want the old mark and a time before %s", got, c.Due)
	}
	if v, _ := s.look("j"); !v.Mark.Equal(c.Prev) || len(v.Claims) != 0 {
		t.Fatalf("after the refusal: %+v, want nothing changed", v)
	}
}

func testClaimRepeated(t *testing.T, s *storeTester) {
	c := s.nextClaim("j", "a")
	s.claim(c, ClaimWon)
	s.claim(c, ClaimWon)
	if err := s.Finish(context.Background(), Finish{Run: Run{ID: "a", Job: "j", Outcome: OutcomeOK}, Keep: 3}); err != nil {
		t.Fatal(err)
	}
	s.claim(c, ClaimTaken) // its run is over: this must not start another
}

func testClaimSkipped(t *testing.T, s *storeTester) {
	c := s.nextClaim("j", "a")
	c.Pending, c.Skipped = nil, &Run{ID: "s", Job: "j", Tick: c.Tick, Outcome: OutcomeSkipped, Reason: "why"}
	s.claim(c, ClaimWon)
	s.claim(c, ClaimTaken)
	if runs := s.runs("j"); len(runs) != 1 || runs[0].ID != "s" || runs[0].Reason != "why" {
		t.Fatalf("runs = %+v, want the skipped one", runs)
	}
	if v, _ := s.look("j"); !v.Mark.Equal(c.Tick) || len(v.Claims) != 0 {
		t.Fatalf("%+v, want the mark moved and nothing in flight", v)
	}
}

func testStartRenew(t *testing.T, s *storeTester) {
	ctx := context.Background()
	c := s.nextClaim("j", "a")
	c.Lease = 0
	s.claim(c, ClaimWon)
	if v, _ := s.look("j"); v.Claims[0].Left > 0 || !v.Claims[0].Run.Started.IsZero() {
		t.Fatalf("claims = %+v, want one that is over and not started", v.Claims)
	}
	p := *c.Pending
	p.Run.Started, p.Run.Fence, p.Recoveries = c.Tick.Add(time.Second), 1<<62+1, 2
	if err := s.Start(ctx, p, time.Minute); err != nil {
		t.Fatal(err)
	}
	v, _ := s.look("j")
	if got := v.Claims[0]; got.Left < 50*time.Second || !got.Run.Started.Equal(p.Run.Started) || got.Run.Fence != p.Run.Fence || got.Recoveries != 2 {
		t.Fatalf("claim = %+v, want it started with its fence and a minute left", got)
	}
	errs := s.Renew(ctx, []RunRef{{"j", "a"}, {"j", "nobody"}, {"other", "a"}}, time.Hour)
	if errs[0] != nil || !errors.Is(errs[1], ErrGone) || !errors.Is(errs[2], ErrGone) {
		t.Fatalf("Renew = %v, want nil, ErrGone, ErrGone", errs)
	}
	if v, _ := s.look("j"); v.Claims[0].Left < 59*time.Minute {
		t.Fatalf("%s left after the renewal, want an hour", v.Claims[0].Left)
	}
	p.Run.ID = "nobody"
	if err := s.Start(ctx, p, time.Minute); !errors.Is(err, ErrGone) {
		t.Fatalf("Start of a run that is not in flight = %v, want ErrGone", err)
	}
}

func testFinish(t *testing.T, s *storeTester) {
	ctx := context.Background()
	c := s.nextClaim("j", "a")
	s.claim(c, ClaimWon)
	next := &Pending{Run: Run{ID: "b", Job: "j", Attempt: 2}}
	f := Finish{Run: Run{ID: "a", Job: "j", Tick: c.Tick, Outcome: OutcomeError, Error: "x"}, Next: next, Lease: time.Minute, Keep: 3}
	if err := s.Finish(ctx, f); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(ctx, f); !errors.Is(err, ErrGone) {
		t.Fatalf("second Finish = %v, want ErrGone", err)
	}
	v, _ := s.look("j")
	if runs := s.runs("j"); len(runs) != 1 || runs[0].Error != "x" || len(v.Claims) != 1 || v.Claims[0].Run.ID != "b" || v.Claims[0].Left <= 0 {
		t.Fatalf("runs %+v, in flight %+v; want one record and b in flight", runs, v.Claims)
	}
}

func testFinishOrphan(t *testing.T, s *storeTester) {
	ctx := context.Background()
	s.claim(s.nextClaim("j", "a"), ClaimWon)
	f := Finish{Run: Run{ID: "a", Job: "j", Outcome: OutcomeLost}, Orphan: true, Keep: 3}
	if err := s.Finish(ctx, f); !errors.Is(err, ErrGone) {
		t.Fatalf("Finish of a claim that another node keeps = %v, want ErrGone", err)
	}
	s.Renew(ctx, []RunRef{{"j", "a"}}, 0)
	if err := s.Finish(ctx, f); err != nil {
		t.Fatal(err)
	}
	if runs := s.runs("j"); len(runs) != 1 || runs[0].Outcome != OutcomeLost {
		t.Fatalf("runs = %+v, want one that is lost", runs)
	}
}

func testFinishPassOn(t *testing.T, s *storeTester) {
	s.claim(s.nextClaim("j", "a"), ClaimWon)
	err := s.Finish(context.Background(), Finish{Run: Run{ID: "a", Job: "j"}, Next: &Pending{PassedOn: true, Run: Run{ID: "b", Job: "j"}}, Keep: 3})
	if err != nil {
		t.Fatal(err)
	}
	v, _ := s.look("j")
	if runs := s.runs("j"); len(runs) != 0 || len(v.Claims) != 1 || v.Claims[0].Run.ID != "b" || !v.Claims[0].PassedOn || v.Claims[0].Left > 0 {
		t.Fatalf("runs %+v, in flight %+v; want no record and b for anybody", runs, v.Claims)
	}
}

func testRunsCapped(t *testing.T, s *storeTester) {
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		s.claim(s.nextClaim("j", id), ClaimWon)
		if err := s.Finish(context.Background(), Finish{Run: Run{ID: id, Job: "j", Outcome: OutcomeOK}, Keep: 3}); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for _, r := range s.runs("j") {
		ids = append(ids, r.ID)
	}
	if want := []string{"e", "d", "c"}; !slices.Equal(ids, want) {
		t.Fatalf("runs %v, want %v", ids, want)
	}
	if runs, err := s.Runs(context.Background(), "j", 2); err != nil || len(runs) != 2 || runs[0].ID != "e" {
		t.Fatalf("Runs with limit 2 = %+v, %v", runs, err)
	}
	if runs, err := s.Runs(context.Background(), "j", 0); err != nil || len(runs) != 0 {
		t.Fatalf("Runs with limit 0 = %+v, %v", runs, err)
	}
}

func testNames(t *testing.T, s *storeTester) {
	names := []string{"", "%", "a", "a:runs", "a}:runs", "{a}", "{", "}", "{}", "a%7D", "%7Ba%7D", ":", "a b\n*?[x]", "ä", strings.Repeat("x", 200)}
	for i, name := range names {
		s.claim(s.nextClaim(name, fmt.Sprint("r", i)), ClaimWon)
	}
	for i, name := range names {
		v, _ := s.look(name)
		if len(v.Claims) != 1 || v.Claims[0].Run.ID != fmt.Sprint("r", i) || v.Claims[0].Run.Job != name {
			t.Errorf("job %q has claims %+v, want its own r%d", name, v.Claims, i)
		}
	}
}

func testEndedContext(t *testing.T, s *storeTester) {
	c := s.nextClaim("j", "a")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, lookErr := s.Look(ctx, []string{"j"})
	_, runsErr := s.Runs(ctx, "j", 1)
	for what, err := range map[string]error{
		"Look": lookErr, "Runs": runsErr, "Claim": s.Claim(ctx, []Claim{c})[0].Err, "Start": s.Start(ctx, *c.Pending, 1),
		"Renew": s.Renew(ctx, []RunRef{{"j", "a"}}, 1)[0], "Finish": s.Finish(ctx, Finish{Run: c.Pending.Run}),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s = %v, want one that wraps context.Canceled", what, err)
		}
	}
	if v, _ := s.look("j"); !v.Mark.Equal(c.Prev) {
		t.Error("the mark moved")
	}
}
