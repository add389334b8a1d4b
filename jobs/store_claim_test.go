package jobs

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

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
