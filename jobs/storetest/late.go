package storetest

import (
	"errors"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// begins starts a run at a time, and hands back what has been started.
func (s *suite) begins(p *jobs.InFlight, at time.Time) jobs.Run {
	s.Helper()
	r := p.Run
	r.Started, r.Fence = at, 7
	s.must(s.start(jobs.Start{Run: r, Owner: p.Owner, Lease: time.Minute}))
	return r
}

// stands checks that one run of a job is in flight under an owner, and when it has begun.
func (s *suite) stands(what, job, owner string, started time.Time) jobs.InFlight {
	s.Helper()
	v := s.look(job)
	if len(v.InFlight) != 1 || v.InFlight[0].Owner != owner || !v.InFlight[0].Run.Started.Equal(started) {
		s.Fatalf("%s: in flight %+v, want one run of %s that began at %s", what, v.InFlight, owner, started)
	}
	return v.InFlight[0]
}

// back is the Finish by which an owner gives a run up that it makes again. started is what its last Start said.
func back(p *jobs.InFlight, started time.Time) jobs.Finish {
	next := *p
	next.Void = started
	f := jobs.Finish{Run: p.Run, Owner: p.Owner, Next: &next, Lease: time.Minute, Keep: 3}
	f.Run.Started = started
	return f
}

// A claim that is delivered again does not undo what has happened to its run.
func testClaimAgain(s *suite) {
	tick := s.next("tick", "a")
	owed := s.next("owed", "o")
	owe := owed
	owe.InFlight, owe.Owe = nil, &jobs.Span{From: owed.Prev, To: owed.Tick}
	s.claim(owe, jobs.ClaimWon)
	owed.Owed, owed.Done, owed.InFlight.Backlog = true, true, true
	manual := s.next("manual", "m")
	manual.Manual = true
	oneOff := jobs.Claim{
		Job: jobs.HandlerPrefix + "h", OneOff: "x", Tick: s.now(), Lease: time.Minute, Keep: 3,
		InFlight: pending(jobs.HandlerPrefix+"h", "x", "o1", s.now()),
	}
	s.must(s.store.Put(s.ctx, jobs.OneOff{ID: "x", Handler: "h", At: oneOff.Tick}))
	for what, c := range map[string]jobs.Claim{"tick": tick, "owed tick": owed, "on demand": manual, "one-off job": oneOff} {
		s.claim(c, jobs.ClaimWon)
		patient := *c.InFlight
		patient.Patient = true
		s.must(s.finish(back(&patient, time.Time{})))
		began := s.begins(c.InFlight, c.Tick.Add(time.Second))
		s.claim(c, jobs.ClaimWon)
		if p := s.stands(what, c.Job, "o1", began.Started); p.Run.Fence != began.Fence || !p.Patient {
			s.Fatalf("%s, claimed again: %+v, want it as it was", what, p)
		}
		began.Outcome = jobs.OutcomeOK
		s.must(s.finish(jobs.Finish{Run: began, Owner: "o1", Keep: 3}))
		s.store.Claim(s.ctx, []jobs.Claim{c})
		if v := s.look(c.Job); len(v.InFlight) != 0 || len(s.runs(c.Job)) != 1 {
			s.Fatalf("%s, claimed again after its end: in flight %+v, want nothing", what, v.InFlight)
		}
	}
}

// What somebody asks for is put in flight once, whoever has taken it since.
func testClaimManualAgain(s *suite) {
	s.register("j")
	c := jobs.Claim{Job: "j", Manual: true, Lease: time.Minute, Keep: 3, InFlight: pending("j", "m", jobs.Nobody, s.now())}
	s.claim(c, jobs.ClaimWon)
	mine := *c.InFlight
	mine.Owner = "o2"
	s.must(s.finish(jobs.Finish{Run: mine.Run, Owner: jobs.Nobody, Next: &mine, Orphan: true, Lease: time.Minute, Keep: 3}))
	began := s.begins(&mine, s.now())
	s.claim(c, jobs.ClaimWon)
	s.stands("asked for again", "j", "o2", began.Started)
	began.Outcome = jobs.OutcomeOK
	s.must(s.finish(jobs.Finish{Run: began, Owner: "o2", Keep: 3}))
	s.claim(c, jobs.ClaimWon)
	if v := s.look("j"); len(v.InFlight) != 0 {
		s.Fatalf("asked for again after its end: in flight %+v, want nothing", v.InFlight)
	}
	c.InFlight = pending("j", "n", jobs.Nobody, s.now())
	s.claim(c, jobs.ClaimWon)
	s.stands("another one", "j", jobs.Nobody, time.Time{})
}

// A Finish that hands a run back to its owner does not undo a begin that came after it.
func testFinishLate(s *suite) {
	c := s.next("j", "a")
	s.claim(c, jobs.ClaimWon)
	p, first, second := c.InFlight, c.Tick.Add(time.Second), c.Tick.Add(time.Second+time.Microsecond)
	late := back(p, time.Time{})
	s.begins(p, first)
	s.must(s.finish(late))
	s.stands("handed back before any begin, late", "j", "o1", first)

	late = back(p, first.Add(time.Nanosecond)) // which is not kept
	s.must(s.finish(late))
	s.stands("handed back", "j", "o1", time.Time{})
	s.must(s.finish(late)) // repeated
	s.begins(p, second)
	s.must(s.finish(late))
	if got := s.stands("handed back, late", "j", "o1", second); got.Run.Fence != 7 {
		s.Fatalf("fence %d, want that of the begin", got.Run.Fence)
	}
	s.must(s.finish(back(p, second)))
	s.stands("handed back again", "j", "o1", time.Time{})
}

// What is said of a run that was lost holds only for what was known of it.
func testFinishLostLate(s *suite) {
	c := s.next("j", "a")
	s.claim(c, jobs.ClaimWon)
	f := jobs.Finish{
		Run: c.InFlight.Run, Owner: "o1", Orphan: true, Keep: 3, Lease: time.Minute, Next: pending("j", "b", "o2", c.Tick),
	}
	f.Run.Outcome = jobs.OutcomeLost
	began := s.begins(c.InFlight, c.Tick.Add(time.Second))
	s.heartbeat("o1", 0)
	for _, f.Orphan = range []bool{true, false} {
		if err := s.finish(f); !errors.Is(err, jobs.ErrGone) {
			s.Fatalf("Finish as lost before it began, of a run that has begun since = %v, want ErrGone", err)
		}
		s.stands("lost before it began, late", "j", "o1", began.Started)
	}
	if n := s.heartbeat("o1", 0).Notices; len(n) != 0 || len(s.runs("j")) != 0 {
		s.Fatalf("notices %+v, records %+v; want nothing changed", n, s.runs("j"))
	}
	f.Orphan, f.Run.Started = true, began.Started
	s.must(s.finish(f))
	if v := s.look("j"); len(v.InFlight) != 1 || v.InFlight[0].Owner != "o2" || len(s.runs("j")) != 1 {
		s.Fatalf("in flight %+v, records %v; want b and a record of a", v.InFlight, s.runs("j"))
	}
}

// A pause that comes late does not undo the resume that came after it.
func testPauseLate(s *suite) {
	s.register("j")
	p := jobs.Pause{Author: "ada", At: s.now()}
	paused := s.pause("j", p)
	record := jobs.Run{ID: id("j", "r"), Job: "j", Outcome: jobs.OutcomeSkipped}
	resumed, err := s.store.Resume(s.ctx, "j", paused.Version, record, 3)
	s.must(err)
	if state := s.pause("j", p); state != resumed || s.look("j").Paused != nil {
		s.Fatalf("the pause, late: %+v stands, want %+v", state, resumed)
	}
	last := s.pause("j", jobs.Pause{Author: "grace"})
	if last.Pause == nil {
		s.Fatalf("a pause that does not say when it was asked for: %+v stands, want it", last)
	}
	resumed, err = s.store.Resume(s.ctx, "j", last.Version, record, 3)
	s.must(err)
	p.At = time.UnixMicro(resumed.Version)
	if state := s.pause("j", p); state.Pause == nil || state.Version <= resumed.Version || s.look("j").Paused == nil {
		s.Fatalf("a pause after the resume: %+v stands, want it", state)
	}
}

// A Start that comes late changes no later begin, and begins nothing that was given up after it.
func testStartLate(s *suite) {
	c := s.next("j", "a")
	s.claim(c, jobs.ClaimWon)
	p, first, second := c.InFlight, c.Tick.Add(time.Second), c.Tick.Add(time.Second+time.Microsecond)
	s.begins(p, second)
	late := p.Run
	late.Started, late.Fence = first, 5
	start := jobs.Start{Run: late, Owner: "o1", Lease: time.Minute}
	s.must(s.start(start))
	if got := s.stands("an earlier begin, late", "j", "o1", second); got.Run.Fence != 7 {
		s.Fatalf("fence %d, want that of the later begin", got.Run.Fence)
	}
	s.must(s.finish(back(p, second)))
	for _, start.Run.Started = range []time.Time{first, second, second.Add(time.Nanosecond)} { // which is not kept
		if err := s.start(start); !errors.Is(err, jobs.ErrGone) {
			s.Fatalf("Start from before the run was given up = %v, want ErrGone", err)
		}
	}
	s.stands("begins from before it was given up", "j", "o1", time.Time{})
	third := s.begins(p, second.Add(time.Microsecond))
	s.stands("a begin after it was given up", "j", "o1", third.Started)
	fourth := start
	start.Run.Started, fourth.Run.Started = third.Started, third.Started.Add(time.Microsecond)
	s.must(errors.Join(s.store.Start(s.ctx, []jobs.Start{fourth, start})...))
	s.stands("the earlier of two begins together", "j", "o1", fourth.Run.Started)
}
