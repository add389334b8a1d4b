package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

func testStart(s *suite) {
	c := s.next("j", "a")
	s.claim(c, jobs.ClaimWon)
	r := c.InFlight.Run
	r.Started, r.Fence = c.Tick.Add(time.Second), 1<<62+1 // more than a double holds
	for range 2 {
		s.must(s.start(jobs.Start{Run: r, Owner: "o1", Lease: time.Minute}))
	}
	if got := s.look("j").InFlight[0]; !got.Run.Started.Equal(r.Started) || got.Run.Fence != r.Fence || got.Owner != "o1" {
		s.Fatalf("in flight = %+v, want it started with its fence", got)
	}
	if err := s.start(jobs.Start{Run: r, Owner: "o2", Lease: time.Minute}); !errors.Is(err, jobs.ErrGone) {
		s.Fatalf("Start by another owner = %v, want ErrGone", err)
	}
	r.ID = id("j", "nothing")
	if err := s.start(jobs.Start{Run: r, Owner: "o1", Lease: time.Minute}); !errors.Is(err, jobs.ErrGone) {
		s.Fatalf("Start of a run that is not in flight = %v, want ErrGone", err)
	}
}

func testFinish(s *suite) {
	c := s.next("j", "a")
	s.claim(c, jobs.ClaimWon)
	r := jobs.Run{ID: id("j", "a"), Job: "j", Tick: c.Tick, Outcome: jobs.OutcomeError, Error: "x", Payload: []byte{0, 255}}
	f := jobs.Finish{Run: r, Owner: "o2", Lease: time.Minute, Keep: 3}
	if err := s.finish(f); !errors.Is(err, jobs.ErrGone) {
		s.Fatalf("Finish by another owner = %v, want ErrGone", err)
	}
	f.Owner = "o1"
	f.Next = pending("j", "b", "o1", c.Tick)
	f.Next.Run.Attempt = 2
	s.must(s.finish(f))
	v, runs := s.look("j"), s.runs("j")
	if len(runs) != 1 || runs[0].Error != "x" || string(runs[0].Payload) != "\x00\xff" || len(v.InFlight) != 1 || v.InFlight[0].Run.Attempt != 2 {
		s.Fatalf("records %+v, in flight %+v; want one record and b in flight", runs, v.InFlight)
	}
	f = jobs.Finish{Run: v.InFlight[0].Run, Owner: "o1", Keep: 3}
	f.Run.Outcome = jobs.OutcomeOK
	s.must(s.finish(f))
	if err := s.finish(f); !errors.Is(err, jobs.ErrGone) {
		s.Fatalf("second Finish = %v, want ErrGone", err)
	}
	if v, runs := s.look("j"), s.runs("j"); len(runs) != 2 || runs[0].ID != id("j", "b") || len(v.InFlight) != 0 {
		s.Fatalf("records %+v, in flight %+v; want two records and nothing", runs, v.InFlight)
	}
}

func testFinishPassOn(s *suite) {
	c := s.next("j", "a")
	s.claim(c, jobs.ClaimWon)
	r := c.InFlight.Run
	r.Started, r.Fence = c.Tick, 5
	s.must(s.start(jobs.Start{Run: r, Owner: "o1", Lease: time.Minute}))
	s.must(s.store.Cancel(s.ctx, jobs.Notice{Job: "j", ID: r.ID, At: s.now(), Author: "ada"}))
	next := *c.InFlight
	next.Owner, next.PassedOn, next.Recoveries = jobs.Nobody, true, 2
	s.must(s.finish(jobs.Finish{Run: c.InFlight.Run, Owner: "o1", Next: &next, Keep: 3}))
	v := s.look("j")
	if len(s.runs("j")) != 0 || len(v.InFlight) != 1 {
		s.Fatalf("records %+v, in flight %+v; want no record and a", s.runs("j"), v.InFlight)
	}
	if p := v.InFlight[0]; p.Owner != jobs.Nobody || !p.PassedOn || p.Recoveries != 2 || !p.Run.Started.IsZero() || p.Run.Fence != 0 {
		s.Fatalf("in flight = %+v, want it passed on, not begun", p)
	}
	mine := next
	mine.Owner, mine.PassedOn = "o2", false
	take := jobs.Finish{Run: next.Run, Owner: jobs.Nobody, Next: &mine, Orphan: true, Lease: time.Minute, Keep: 3}
	s.must(s.finish(take))
	s.must(s.finish(take))
	others := mine
	others.Owner = "o3"
	take.Next = &others
	if err := s.finish(take); !errors.Is(err, jobs.ErrGone) {
		s.Fatalf("a second node took it too: %v", err)
	}
	if n := s.heartbeat("o2", time.Minute).Notices; len(n) != 1 || n[0].Author != "ada" || n[0].Taken {
		s.Fatalf("notices of the new owner = %+v, want the wish to cancel it", n)
	}
}

func testFinishOrphan(s *suite) {
	c := s.next("j", "a")
	s.claim(c, jobs.ClaimWon)
	r := c.InFlight.Run
	r.Outcome = jobs.OutcomeLost
	f := jobs.Finish{Run: r, Owner: "o1", Orphan: true, Keep: 3, Lease: time.Minute, Next: pending("j", "b", "o2", c.Tick)}
	if err := s.finish(f); !errors.Is(err, jobs.ErrGone) {
		s.Fatalf("Finish as an orphan while its owner is alive = %v, want ErrGone", err)
	}
	if v := s.look("j"); len(v.InFlight) != 1 || v.InFlight[0].Run.ID != id("j", "a") || len(s.runs("j")) != 0 {
		s.Fatalf("in flight %+v, records %v; want nothing changed", v.InFlight, s.runs("j"))
	}
	s.heartbeat("o1", 0) // its lease is over now
	s.must(s.finish(f))
	if v := s.look("j"); len(v.InFlight) != 1 || v.InFlight[0].Owner != "o2" || len(s.runs("j")) != 1 {
		s.Fatalf("in flight %+v, records %v; want b and a record of a", v.InFlight, s.runs("j"))
	}
	n := s.heartbeat("o1", time.Minute).Notices
	if len(n) != 1 || n[0].ID != id("j", "a") || !n[0].Taken {
		s.Fatalf("notices of the old owner = %+v, want that its run was taken", n)
	}
	if err := s.finish(jobs.Finish{Run: r, Owner: "o1", Keep: 3}); !errors.Is(err, jobs.ErrGone) {
		s.Fatalf("Finish by the old owner = %v, want ErrGone", err)
	}
}

func testFinishRepeated(s *suite) {
	c := s.next("j", "a")
	s.claim(c, jobs.ClaimWon)
	f := jobs.Finish{Run: c.InFlight.Run, Owner: "o1", Next: pending("j", "b", "o1", c.Tick), Lease: time.Minute, Keep: 3}
	f.Run.Outcome = jobs.OutcomeError
	s.must(s.finish(f))
	s.must(s.finish(f))
	if v := s.look("j"); len(v.InFlight) != 1 || len(s.runs("j")) != 1 {
		s.Fatalf("in flight %+v, records %v; want one of each", v.InFlight, s.runs("j"))
	}
}

func testRunsCapped(s *suite) {
	for i := range 5 {
		c := s.next("j", fmt.Sprint(i))
		s.claim(c, jobs.ClaimWon)
		r := c.InFlight.Run
		r.Outcome = jobs.OutcomeOK
		s.must(s.finish(jobs.Finish{Run: r, Owner: "o1", Keep: 3}))
	}
	runs := s.runs("j")
	if len(runs) != 3 || runs[0].ID != id("j", "4") || runs[2].ID != id("j", "2") {
		s.Fatalf("records %+v, want the last three, the latest first", runs)
	}
	two, err := s.store.Runs(s.ctx, []string{"nothing", "j"}, 2)
	s.must(err)
	if len(two) != 2 || len(two[0]) != 0 || len(two[1]) != 2 || two[1][0].ID != id("j", "4") {
		s.Fatalf("Runs of two jobs = %+v, want none and the latest two", two)
	}
	if none, err := s.store.Runs(s.ctx, []string{"j"}, 0); err != nil || len(none[0]) != 0 {
		s.Fatalf("Runs with limit 0 = %+v, %v", none, err)
	}
}

func testInFlight(s *suite) {
	want := map[string]bool{}
	for i := range 40 {
		name := fmt.Sprint("job ", i)
		s.claim(s.next(name, "a"), jobs.ClaimWon)
		want[id(name, "a")] = true
	}
	all, err := s.store.InFlight(s.ctx)
	s.must(err)
	for _, p := range all {
		if !want[p.Run.ID] || p.Owner != "o1" {
			s.Errorf("in flight = %+v, want what was claimed", p)
		}
		delete(want, p.Run.ID)
	}
	if len(want) > 0 {
		s.Errorf("not in flight: %v", want)
	}
}

func testEndedContext(s *suite) {
	c := s.next("j", "a")
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	errs := map[string]error{
		"Claim":  s.store.Claim(ctx, []jobs.Claim{c})[0].Err,
		"Start":  s.store.Start(ctx, []jobs.Start{{Run: c.InFlight.Run, Owner: "o1"}})[0],
		"Finish": s.store.Finish(ctx, []jobs.Finish{{Run: c.InFlight.Run, Owner: "o1"}})[0],
		"Put":    s.store.Put(ctx, jobs.OneOff{ID: "x", Handler: "h", At: c.Tick}),
	}
	_, errs["Register"] = s.store.Register(ctx, offer("s1", "k"))
	_, errs["Pause"] = s.store.Pause(ctx, "j", jobs.Pause{Author: "ada", At: c.Tick})
	_, errs["Look"] = s.store.Look(ctx, []string{"j"})
	_, errs["Heartbeat"] = s.store.Heartbeat(ctx, jobs.Heartbeat{Session: "o1"})
	for call, err := range errs {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("%s = %v, want context.Canceled", call, err)
		}
	}
	if v := s.look("j"); !v.Cursor.Equal(c.Prev) || len(v.InFlight) != 0 || v.Paused != nil {
		s.Errorf("after calls with an ended context: %+v, want nothing changed", v)
	}
	if waiting, err := s.store.Waiting(s.ctx, 10); err != nil || len(waiting) != 0 || !s.look("k").Cursor.IsZero() {
		s.Errorf("after calls with an ended context: %v, %v; want no one-off job, and k unknown", waiting, err)
	}
}
