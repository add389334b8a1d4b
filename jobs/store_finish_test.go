package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

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
