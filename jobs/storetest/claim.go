package storetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

func testRegister(s *suite) {
	before := s.now()
	v, err := s.store.Register(s.ctx, offer("s1", "j", "k"))
	s.must(err)
	cursor := v.Jobs[0].Cursor
	if cursor.Before(before) || cursor.After(s.now()) || len(v.Jobs) != 2 || len(v.Jobs[0].InFlight) != 0 || v.Jobs[0].Paused != nil {
		s.Fatalf("Register of a new job = %+v, want its cursor between %s and now", v, before)
	}
	again, err := s.store.Register(s.ctx, offer("s1", "j"))
	s.must(err)
	if !again.Jobs[0].Cursor.Equal(cursor) {
		s.Fatalf("the cursor moved from %s to %s when the job was registered again", cursor, again.Jobs[0].Cursor)
	}
	cursors, err := s.store.Cursors(s.ctx, []string{"k", "nobody's", "j"})
	s.must(err)
	if len(cursors) != 3 || !cursors[2].Equal(cursor) || !cursors[1].IsZero() || !cursors[0].Equal(v.Jobs[1].Cursor) {
		s.Fatalf("Cursors = %v, want those of k, none, and of j, %s", cursors, cursor)
	}
}

func testLook(s *suite) {
	for range 2 {
		if v := s.look("j"); !v.Cursor.IsZero() || v.Paused != nil || v.Missed != 0 || len(v.InFlight) != 0 {
			s.Fatalf("Look of an unknown job = %+v, want nothing", v)
		}
	}
}

func testClaimOnce(s *suite) {
	c := s.next("j", "a")
	if got := s.claim(c, jobs.ClaimWon); !got.Cursor.Equal(c.Tick) || got.Now.Before(c.Prev) {
		s.Fatalf("Claim = %+v, want the cursor at %s and the time", got, c.Tick)
	}
	other := c
	other.InFlight = pending("j", "b", "o2", c.Tick)
	if got := s.claim(other, jobs.ClaimTaken); !got.Cursor.Equal(c.Tick) {
		s.Fatalf("cursor in the refusal = %s, want %s", got.Cursor, c.Tick)
	}
	other.Tick = c.Tick.Add(time.Microsecond) // another version of the spec, not aware of c
	s.claim(other, jobs.ClaimTaken)
	v := s.look("j")
	if len(v.InFlight) != 1 {
		s.Fatalf("in flight = %+v, want a alone", v.InFlight)
	}
	if p := v.InFlight[0]; p.Run.ID != id("j", "a") || !p.Run.Tick.Equal(c.Tick) || p.Locker != "L" || p.Owner != "o1" || !p.Run.Started.IsZero() {
		s.Fatalf("in flight = %+v, want a as it was claimed", p)
	}
}

func testClaimRace(s *suite) {
	c := s.next("j", "")
	var wg sync.WaitGroup
	won := make(chan string, 50)
	for i := range cap(won) {
		mine := c
		mine.InFlight = pending("j", fmt.Sprint("r", i), fmt.Sprint("o", i), c.Tick)
		wg.Go(func() {
			if got := s.store.Claim(s.ctx, []jobs.Claim{mine})[0]; got.Status == jobs.ClaimWon {
				won <- mine.InFlight.Run.ID
			} else if got.Status != jobs.ClaimTaken {
				s.Errorf("Claim = %+v, want won or taken", got)
			}
		})
	}
	wg.Wait()
	v := s.look("j")
	if len(won) != 1 || len(v.InFlight) != 1 || v.InFlight[0].Run.ID != <-won {
		s.Fatalf("%d won, in flight are %+v; want one, and that one", len(won), v.InFlight)
	}
}

func testClaimEarly(s *suite) {
	c := s.next("j", "a")
	c.Due = s.now().Add(time.Hour)
	c.Skipped, c.Missed = &jobs.Run{ID: id("j", "s"), Job: "j", Outcome: jobs.OutcomeSkipped}, 7
	if got := s.claim(c, jobs.ClaimEarly); !got.Cursor.Equal(c.Prev) || !got.Now.Before(c.Due) {
		s.Fatalf("Claim of what is not due = %+v, want the old cursor and the time", got)
	}
	if v := s.look("j"); !v.Cursor.Equal(c.Prev) || len(v.InFlight) != 0 || v.Missed != 0 || len(s.runs("j")) != 0 {
		s.Fatalf("after an early claim: %+v, %v; want nothing changed", v, s.runs("j"))
	}
}

func testClaimRepeated(s *suite) {
	c := s.next("j", "a")
	c.Skipped, c.Missed = &jobs.Run{ID: id("j", "s"), Job: "j", Outcome: jobs.OutcomeSkipped}, 7
	s.claim(c, jobs.ClaimWon)
	if got := s.claim(c, jobs.ClaimWon); !got.Cursor.Equal(c.Tick) {
		s.Fatalf("repeated claim = %+v, want the cursor at %s", got, c.Tick)
	}
	if v := s.look("j"); len(v.InFlight) != 1 || v.Missed != 7 || len(s.runs("j")) != 1 {
		s.Fatalf("after a repeated claim: %+v, records %v; want one of each", v, s.runs("j"))
	}
	s.must(s.finish(jobs.Finish{Run: c.InFlight.Run, Owner: "o1"}))
	s.claim(c, jobs.ClaimTaken) // its run is over: it is not begun again
}

func testClaimSkipped(s *suite) {
	c := s.next("j", "")
	c.InFlight = nil
	c.Skipped = &jobs.Run{ID: id("j", "s"), Job: "j", Tick: c.Tick, Outcome: jobs.OutcomeSkipped, Reason: "because"}
	c.Missed = 3
	s.claim(c, jobs.ClaimWon)
	next := s.next("j", "a")
	next.Missed = 4
	s.claim(next, jobs.ClaimWon)
	v, runs := s.look("j"), s.runs("j")
	if !v.Cursor.Equal(next.Tick) || len(v.InFlight) != 1 || v.Missed != 7 || len(runs) != 1 || runs[0].Reason != "because" || !runs[0].Tick.Equal(c.Tick) {
		s.Fatalf("after a skip: %+v, records %+v; want seven missed and the record", v, runs)
	}
}

func testClaimBatch(s *suite) {
	var claims []jobs.Claim
	for i := range 700 {
		name := fmt.Sprint("job ", i)
		claims = append(claims, jobs.Claim{Job: name})
		if i%100 == 0 {
			s.register(name)
		}
	}
	names := make([]string, len(claims))
	for i, c := range claims {
		names[i] = c.Job
	}
	v, err := s.store.Register(s.ctx, offer("s1", names...))
	s.must(err)
	for i := range claims {
		cursor := v.Jobs[i].Cursor
		tick := cursor.Add(time.Microsecond)
		claims[i] = jobs.Claim{
			Job: names[i], Prev: cursor, Tick: tick, Due: cursor, Lease: time.Minute, Keep: 3,
			InFlight: pending(names[i], "a", "o1", tick),
		}
		switch i % 4 {
		case 1:
			claims[i].Due = v.Now.Add(time.Hour)
		case 2:
			claims[i].Prev = cursor.Add(-time.Second)
		case 3:
			claims[i].Skipped = &jobs.Run{ID: id(names[i], "s"), Job: names[i], Outcome: jobs.OutcomeSkipped}
		}
	}
	// Twice the same job in one batch: the second sees what the first did.
	twice := claims[0]
	twice.Prev, twice.Tick = claims[0].Tick, claims[0].Tick.Add(time.Microsecond)
	twice.InFlight = pending(twice.Job, "b", "o1", twice.Tick)
	claims = append(claims, twice, twice)
	claims[len(claims)-1].InFlight = pending(twice.Job, "c", "o1", twice.Tick)
	want := []jobs.ClaimStatus{jobs.ClaimWon, jobs.ClaimEarly, jobs.ClaimTaken, jobs.ClaimWon}
	for i, got := range s.store.Claim(s.ctx, claims) {
		expected := want[i%4]
		if i >= 700 {
			expected = []jobs.ClaimStatus{jobs.ClaimWon, jobs.ClaimTaken}[i-700]
		}
		if got.Err != nil || got.Status != expected {
			s.Fatalf("claim %d of the batch = %+v, want status %d", i, got, expected)
		}
	}
	all, err := s.store.InFlight(s.ctx)
	s.must(err)
	records, err := s.store.Runs(s.ctx, names, 10)
	s.must(err)
	if len(all) != 351 || len(records) != 700 || len(records[3]) != 1 || records[3][0].ID != id(names[3], "s") || len(records[4]) != 0 {
		s.Fatalf("%d in flight, records of four jobs %v; want 351 and one record for every fourth job", len(all), records[:4])
	}
}

func testClaimUnknown(s *suite) {
	now := s.now()
	c := jobs.Claim{
		Job: "j", Prev: now, Tick: now, Due: now.Add(-time.Hour), Lease: time.Minute, Keep: 3, InFlight: pending("j", "a", "o1", now),
	}
	s.claim(c, jobs.ClaimUnknown)
	if v := s.look("j"); !v.Cursor.IsZero() || len(v.InFlight) != 0 {
		s.Fatalf("after the claim of an unknown job: %+v, want it still unknown", v)
	}
}

func testClaimOwed(s *suite) {
	c := s.next("j", "n")
	cursor := c.Prev
	at := func(n int) time.Time { return cursor.Add(time.Duration(n) * time.Microsecond) }
	for i, to := range []int{3, 5} { // two spans: ticks 1 to 3, and 5
		owe := jobs.Claim{Job: "j", Prev: at(i * 4), Tick: at(to - i), Due: cursor, Keep: 3, Owe: &jobs.Span{From: at(i * 4), To: at(to)}}
		if i == 0 {
			owe.Tick = at(4)
		} else {
			owe.Tick = at(6)
		}
		if got := s.claim(owe, jobs.ClaimWon); len(got.Owed) != i+1 || !got.Cursor.Equal(owe.Tick) {
			s.Fatalf("Claim = %+v, want the cursor at %s, and %d spans owed", got, owe.Tick, i+1)
		}
	}
	owed := func(unique string, prev, tick int) jobs.Claim {
		c := jobs.Claim{
			Job: "j", Owed: true, Prev: at(prev), Tick: at(tick), Due: cursor, Lease: time.Minute, Keep: 3,
			InFlight: pending("j", unique, "o1", at(tick)),
		}
		c.InFlight.Backlog = true
		return c
	}
	end := func(c jobs.Claim) {
		r := c.InFlight.Run
		r.Outcome = jobs.OutcomeOK
		s.must(s.finish(jobs.Finish{Run: r, Owner: "o1", Keep: 3}))
	}
	s.claim(owed("x", 1, 2), jobs.ClaimTaken)
	first := owed("a", 0, 2)
	if got := s.claim(first, jobs.ClaimWon); len(got.Owed) != 2 || !got.Owed[0].From.Equal(at(2)) || !got.Cursor.Equal(at(6)) {
		s.Fatalf("Claim of a tick that is owed = %+v, want what is owed to begin at it, and the cursor as it was", got)
	}
	if got := s.claim(first, jobs.ClaimWon); len(got.Owed) != 2 { // repeated
		s.Fatalf("repeated: %+v, want two spans", got)
	}
	s.claim(owed("b", 0, 2), jobs.ClaimTaken)
	last := owed("b", 2, 3)
	last.Done = true
	s.claim(last, jobs.ClaimBusy)
	onTime := jobs.Claim{Job: "j", Prev: at(6), Tick: at(7), Due: cursor, Lease: time.Minute, Keep: 3, InFlight: pending("j", "t", "o1", at(7))}
	s.claim(onTime, jobs.ClaimWon) // it is in nobody's way
	end(first)
	if got := s.claim(last, jobs.ClaimWon); len(got.Owed) != 1 || !got.Owed[0].From.Equal(at(4)) || !got.Owed[0].To.Equal(at(5)) {
		s.Fatalf("Claim of the last tick of a span = %+v, want the other span", got)
	}
	end(last)
	// In one batch, the second finds the run of the first in flight.
	third, fourth := owed("c", 4, 5), owed("d", 5, 5)
	got := s.store.Claim(s.ctx, []jobs.Claim{third, fourth})
	if got[0].Status != jobs.ClaimWon || got[1].Status != jobs.ClaimBusy {
		s.Fatalf("two in one batch = %+v, want the first won and the second to wait", got)
	}
	end(third)
	fourth.Done, fourth.InFlight = true, nil
	s.claim(fourth, jobs.ClaimWon)
	if v := s.look("j"); len(v.Owed) != 0 || len(v.InFlight) != 1 || !v.Cursor.Equal(at(7)) {
		s.Fatalf("in the end: %+v, want nothing owed, and the run on time in flight", v)
	}
}

func testRegisterOwed(s *suite) {
	v := s.registered(timed("a", "j", "1 * * * *", "a", "b"))
	at := func(n int) time.Time { return v.Cursor.Add(time.Duration(n) * time.Microsecond) }
	check := func(what string, r jobs.Registration, want ...jobs.Span) {
		s.Helper()
		got := s.registered(r).Owed
		if !slices.EqualFunc(got, want, func(a, b jobs.Span) bool { return a.From.Equal(b.From) && a.To.Equal(b.To) }) {
			s.Fatalf("%s: owed %v, want %v", what, got, want)
		}
	}
	r := timed("b", "j", "1 * * * *", "a", "b")
	o := &r.Offers[0]
	o.Cursor, o.OwedKnown, o.Owed = at(9), true, []jobs.Span{{From: at(1), To: at(3)}, {From: at(4), To: at(6)}}
	check("a higher cursor", r, o.Owed...)
	o.Owed = []jobs.Span{{From: at(5), To: at(6)}}
	check("the same cursor", r, o.Owed...)
	o.OwedKnown, o.Owed = false, nil
	check("the same cursor, owed unknown", r, jobs.Span{From: at(5), To: at(6)})
	o.Cursor, o.OwedKnown = at(2), true
	check("a lower cursor", r, jobs.Span{From: at(5), To: at(6)})
	o.Cursor = at(10)
	check("a higher cursor, nothing owed", r)
}

func testClaimManual(s *suite) {
	s.register("j")
	cursor := s.look("j").Cursor
	c := jobs.Claim{Job: "j", Manual: true, Lease: time.Minute, Keep: 3, InFlight: pending("j", "m", jobs.Nobody, cursor)}
	c.InFlight.Run.Author = "ada"
	s.claim(c, jobs.ClaimWon)
	s.claim(c, jobs.ClaimWon)
	if v := s.look("j"); !v.Cursor.Equal(cursor) || len(v.InFlight) != 1 || v.InFlight[0].Owner != jobs.Nobody || v.InFlight[0].Run.Author != "ada" {
		s.Fatalf("after a claim on demand: %+v, want the old cursor and one run", v)
	}
	if p := s.heartbeat("o1", time.Minute); len(p.Orphans) != 1 || p.Orphans[0].Run.ID != id("j", "m") {
		s.Fatalf("orphans = %+v, want what belongs to nobody", p.Orphans)
	}
}

func testNames(s *suite) {
	names := []string{
		"a", "A", "a:runs", "{a}", "}{", "a b", "a\nb", "%", "ä", "<script>", "a@b", "@", "cursors", "one-off:x", "one-off:y",
	}
	s.register(names...)
	for i, name := range names {
		c := s.next(name, fmt.Sprint("x.", i))
		s.claim(c, jobs.ClaimWon)
		r := c.InFlight.Run
		r.Outcome, r.Error = jobs.OutcomeOK, name
		if i%2 == 0 {
			s.must(s.finish(jobs.Finish{Run: r, Owner: "o1", Keep: 3}))
		}
	}
	for i, name := range names {
		v, runs := s.look(name), s.runs(name)
		if i%2 == 0 && (len(v.InFlight) != 0 || len(runs) != 1 || runs[0].Error != name || runs[0].Job != name) {
			s.Errorf("%q: in flight %+v, records %+v; want its own record", name, v.InFlight, runs)
		}
		if i%2 == 1 && (len(v.InFlight) != 1 || v.InFlight[0].Run.Job != name || len(runs) != 0) {
			s.Errorf("%q: in flight %+v, records %+v; want its own run", name, v.InFlight, runs)
		}
	}
}
