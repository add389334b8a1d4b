package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

func testPause(s *suite) {
	at := s.now()
	if _, err := s.store.Pause(s.ctx, "j", jobs.Pause{Author: "ada", At: at}); !errors.Is(err, jobs.ErrUnknownJob) {
		s.Fatalf("Pause of an unknown job = %v, want ErrUnknownJob", err)
	}
	c := s.next("j", "a")
	s.pause("j", jobs.Pause{Author: "ada", Reason: "later", At: at})
	first := s.look("j").Paused.Version
	again := at.Add(time.Millisecond)
	state := s.pause("j", jobs.Pause{Author: "bob", Reason: "<b>", At: again})
	s.claim(c, jobs.ClaimPaused)
	early := c
	early.Due = s.now().Add(time.Hour)
	s.claim(early, jobs.ClaimPaused)
	v := s.look("j")
	if v.Paused == nil || v.Paused.Author != "bob" || v.Paused.Reason != "<b>" || !v.Paused.At.Equal(at) || v.Paused.Version <= first || !v.Cursor.Equal(c.Prev) {
		s.Fatalf("paused = %+v, cursor %s; want bob's, with the old begin and a new version, and the old cursor", v.Paused, v.Cursor)
	}
	if state.Job != "j" || state.Version != v.Paused.Version || *state.Pause != *v.Paused {
		s.Fatalf("Pause says that %+v stands, want %+v", state, v.Paused)
	}
	record := jobs.Run{ID: id("j", "r"), Job: "j", Outcome: jobs.OutcomeSkipped, Reason: "paused"}
	if _, err := s.store.Resume(s.ctx, "j", first, record, 3); !errors.Is(err, jobs.ErrGone) {
		s.Fatalf("Resume of another pause = %v, want ErrGone", err)
	}
	before := s.now()
	if state, err := s.store.Resume(s.ctx, "j", v.Paused.Version, record, 3); err != nil || state.Job != "j" ||
		state.Version <= v.Paused.Version || state.Pause != nil {
		s.Fatalf("Resume says that %+v stands, %v; want a resume with a new version", state, err)
	}
	if _, err := s.store.Resume(s.ctx, "j", v.Paused.Version, record, 3); !errors.Is(err, jobs.ErrGone) {
		s.Fatalf("second Resume = %v, want ErrGone", err)
	}
	if v := s.look("j"); v.Paused != nil || v.Cursor.Before(before) || len(s.runs("j")) != 1 {
		s.Fatalf("after Resume: %+v, records %v; want the cursor at the present, and one record", v, s.runs("j"))
	}
	s.claim(c, jobs.ClaimTaken)
	s.claim(s.next("j", "b"), jobs.ClaimWon)
}

func (s *suite) pause(job string, p jobs.Pause) jobs.PauseState {
	s.Helper()
	state, err := s.store.Pause(s.ctx, job, p)
	s.must(err)
	return state
}

func testPut(s *suite) {
	at := s.now().Add(time.Hour)
	o := jobs.OneOff{ID: "x", Handler: "mail", At: at, Payload: []byte("\x00<p>")}
	s.must(s.store.Put(s.ctx, o))
	other := o
	other.At, other.Handler = at.Add(time.Hour), "other"
	s.must(s.store.Put(s.ctx, other))
	s.must(s.store.Put(s.ctx, jobs.OneOff{ID: "y", Handler: "mail", At: at.Add(-time.Minute)}))
	for _, year := range []int{-1, 0, 10000, 300000} { // of which no record can tell
		if s.store.Put(s.ctx, jobs.OneOff{ID: "far", Handler: "mail", At: time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)}) == nil {
			s.Fatalf("a one-off job is put in the year %d", year)
		}
	}
	waiting, err := s.store.Waiting(s.ctx, 10)
	s.must(err)
	if len(waiting) != 2 || waiting[0].ID != "y" || waiting[1].Handler != "mail" || !waiting[1].At.Equal(at) || string(waiting[1].Payload) != "\x00<p>" {
		s.Fatalf("waiting = %+v, want y, and x as it was put first", waiting)
	}
	if one, err := s.store.Waiting(s.ctx, 1); err != nil || len(one) != 1 {
		s.Fatalf("Waiting with limit 1 = %+v, %v", one, err)
	}
	s.must(s.store.Withdraw(s.ctx, "y"))
	if err := s.store.Withdraw(s.ctx, "y"); !errors.Is(err, jobs.ErrGone) {
		s.Fatalf("second Withdraw = %v, want ErrGone", err)
	}
	s.must(s.store.Put(s.ctx, jobs.OneOff{ID: "y", Handler: "mail", At: at})) // withdrawn is not done
	if waiting, err := s.store.Waiting(s.ctx, 10); err != nil || len(waiting) != 2 {
		s.Fatalf("waiting = %+v, %v; want x and y", waiting, err)
	}
	if p := s.heartbeat("o1", time.Minute); len(p.Due) != 0 { // the horizon is a minute
		s.Fatalf("due = %+v, want nothing yet", p.Due)
	}
}

func testOneOff(s *suite) {
	soon := s.now().Add(30 * time.Second)
	for i := range 3 {
		s.must(s.store.Put(s.ctx, jobs.OneOff{ID: fmt.Sprint("x", i), Handler: "mail", At: soon.Add(-time.Duration(i) * time.Hour)}))
	}
	p := s.heartbeat("o1", time.Minute)
	if len(p.Due) != 3 || p.Due[0].ID != "x2" || p.Due[2].ID != "x0" {
		s.Fatalf("due = %+v, want x2, x1, x0", p.Due)
	}
	claim := func(o jobs.OneOff, unique string) jobs.Claim {
		job := "one-off:" + o.Handler
		return jobs.Claim{
			Job: job, OneOff: o.ID, Tick: o.At, Due: o.At, Lease: time.Minute, Keep: 3, InFlight: pending(job, unique, "o1", o.At),
		}
	}
	s.claim(claim(p.Due[2], "early"), jobs.ClaimEarly)
	s.claim(claim(p.Due[0], "a"), jobs.ClaimWon)
	s.claim(claim(p.Due[0], "a"), jobs.ClaimWon)
	s.claim(claim(p.Due[0], "b"), jobs.ClaimTaken)
	s.claim(claim(jobs.OneOff{ID: "never", Handler: "mail", At: soon}, "c"), jobs.ClaimTaken)
	s.must(s.store.Put(s.ctx, p.Due[0])) // it has had its time
	waiting, err := s.store.Waiting(s.ctx, 10)
	s.must(err)
	if len(waiting) != 2 || waiting[0].ID != "x1" {
		s.Fatalf("waiting = %+v, want x1 and x0", waiting)
	}
	if v := s.look("one-off:mail"); len(v.InFlight) != 1 || v.InFlight[0].Run.ID != id("one-off:mail", "a") {
		s.Fatalf("in flight = %+v, want a", v.InFlight)
	}
}
