package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

func (s *suite) list(q jobs.ListQuery) jobs.ListPage {
	s.Helper()
	page, err := s.store.List(s.ctx, q)
	s.must(err)
	return page
}

// wantPage checks a page: its names, whether there are others, and how many come before.
func (s *suite) wantPage(q jobs.ListQuery, more bool, before int, names ...string) {
	s.Helper()
	if page := s.list(q); !slices.Equal(page.Jobs, names) || page.More != more || page.Before != before {
		s.Fatalf("List of %+v = %+v, want %q, more %t, %d before", q, page, names, more, before)
	}
}

// many registers jobs and returns their names, sorted. Handlers are not among them.
func (s *suite) many(n int) (names []string) {
	s.Helper()
	for i := range n {
		names = append(names, fmt.Sprintf("job-%03d", i))
	}
	s.register(names...)
	_, err := s.store.Register(s.ctx, jobs.Registration{Session: "s1", Offers: []jobs.Offer{
		{Definition: jobs.Definition{Job: "one-off:mail", Handler: true}},
	}})
	s.must(err)
	return names
}

func testList(s *suite) {
	s.wantPage(jobs.ListQuery{Limit: 5}, false, 0)
	names := s.many(100)
	var all []string
	for q := (jobs.ListQuery{Limit: 30}); ; q.From = all[len(all)-1] {
		page := s.list(q)
		if page.Before != len(all) {
			s.Fatalf("%d before the page after %q, want %d", page.Before, q.From, len(all))
		}
		if all = append(all, page.Jobs...); !page.More {
			break
		}
		if len(page.Jobs) != 30 {
			s.Fatalf("a page of 30 has %d, and there are others", len(page.Jobs))
		}
	}
	if !slices.Equal(all, names) {
		s.Fatalf("pages have %q, want all, sorted", all)
	}
	s.wantPage(jobs.ListQuery{From: "job-0115", Limit: 2}, true, 12, "job-012", "job-013") // there is none of that name
	s.wantPage(jobs.ListQuery{From: "job-099", Limit: 2}, false, 100)
	s.wantPage(jobs.ListQuery{State: jobs.StateHandler, Limit: 2}, false, 0, "one-off:mail")
	n, err := s.store.Count(s.ctx, time.Time{})
	if want := (jobs.JobCount{Jobs: 100, Never: 100}); err != nil || n != want {
		s.Fatalf("Count = %+v, %v; want %+v", n, err, want)
	}
}

func testListBack(s *suite) {
	names := s.many(100)
	s.wantPage(jobs.ListQuery{Back: true, Limit: 3}, true, 97, names[97:]...)
	s.wantPage(jobs.ListQuery{Back: true, From: "job-097", Limit: 2}, true, 95, names[95:97]...)
	s.wantPage(jobs.ListQuery{Back: true, From: "job-0015", Limit: 3}, false, 0, names[:2]...)
	s.wantPage(jobs.ListQuery{Back: true, From: "job-000", Limit: 3}, false, 0)
}

// run has a run of a job begin and end.
func (s *suite) run(job, unique string, outcome jobs.Outcome) {
	s.Helper()
	c := jobs.Claim{Job: job, Manual: true, Lease: time.Minute, Keep: 3, InFlight: pending(job, unique, "o1", s.now())}
	s.claim(c, jobs.ClaimWon)
	f := jobs.Finish{Run: c.InFlight.Run, Owner: "o1", Keep: 3}
	f.Run.Outcome, f.Run.Ended = outcome, s.now()
	s.must(s.finish(f))
}

func testListStates(s *suite) {
	s.many(6)
	want := func(state jobs.JobState, names ...string) {
		s.Helper()
		s.wantPage(jobs.ListQuery{State: state, Limit: 10}, false, 0, names...)
	}
	s.run("job-001", "a", jobs.OutcomeOK)
	s.run("job-002", "a", jobs.OutcomeError)
	s.run("job-003", "a", jobs.OutcomePanic)
	s.run("job-004", "a", jobs.OutcomeTimeout)
	s.run("job-003", "b", jobs.OutcomeOK)
	s.pause("job-005", jobs.Pause{Author: "ada"})
	c := s.next("job-002", "c")
	c.InFlight, c.Missed = nil, 3
	s.claim(c, jobs.ClaimWon)
	want(jobs.StateFailing, "job-002", "job-004")
	want(jobs.StatePaused, "job-005")
	want(jobs.StateMissed, "job-002")
	want(jobs.StateNever, "job-000", "job-005")
	s.wantPage(jobs.ListQuery{State: jobs.StateFailing, From: "job-002", Limit: 1}, false, 1, "job-004")
	s.wantPage(jobs.ListQuery{State: jobs.StateFailing, Search: []string{"4"}, Limit: 1}, false, -1, "job-004")
	before := s.now()
	s.register("job-001") // again, by which it does not become one that never ran
	n, err := s.store.Count(s.ctx, before)
	if want := (jobs.JobCount{Jobs: 6, Failing: 2, Paused: 1, Missed: 1, Never: 2, Unseen: 5, Ticks: 3}); err != nil || n != want {
		s.Fatalf("Count = %+v, %v; want %+v", n, err, want)
	}
	s.wantPage(jobs.ListQuery{UnseenSince: before, From: "job-000", Limit: 2}, true, -1, "job-002", "job-003")
	skipped := s.next("job-004", "d") // the newest record says of no failure
	skipped.InFlight, skipped.Skipped = nil, &jobs.Run{ID: id("job-004", "e"), Job: "job-004", Outcome: jobs.OutcomeSkipped}
	s.claim(skipped, jobs.ClaimWon)
	p := s.look("job-005").Paused
	_, err = s.store.Resume(s.ctx, "job-005", p.Version, jobs.Run{ID: id("job-005", "f"), Job: "job-005"}, 3)
	s.must(err)
	want(jobs.StateFailing, "job-002")
	want(jobs.StatePaused)
	want(jobs.StateNever, "job-000")
	pause := jobs.PauseState{Job: "job-001", Version: s.now().Add(time.Hour).UnixMicro(), Pause: &jobs.Pause{Author: "ada"}}
	s.must(s.store.Restore(s.ctx, jobs.Memory{Pauses: []jobs.PauseState{pause}}))
	want(jobs.StatePaused, "job-001")
	pause.Version, pause.Pause = pause.Version+1, nil
	s.must(s.store.Restore(s.ctx, jobs.Memory{Pauses: []jobs.PauseState{pause}}))
	want(jobs.StatePaused)
}

func testListSearch(s *suite) {
	s.many(40)
	_, err := s.store.Register(s.ctx, timed("s2", "Reports[%d].Nightly", "*/5 * * * *", "s1", "s2"))
	s.must(err)
	for _, words := range [][]string{{"nightly"}, {"[%d]"}, {"*/5"}, {"every 5 minutes", "utc"}, {"ports", "night", "p\n"}} {
		s.wantPage(jobs.ListQuery{Search: words, Limit: 3}, false, -1, "Reports[%d].Nightly")
	}
	s.wantPage(jobs.ListQuery{Search: []string{"Nightly"}, Limit: 3}, false, -1) // words are in lower case
	s.wantPage(jobs.ListQuery{Search: []string{"nightly", "daily"}, Limit: 3}, false, -1)
	s.wantPage(jobs.ListQuery{Search: []string{"job-", "7"}, Limit: 3}, true, -1, "job-007", "job-017", "job-027")
	s.wantPage(jobs.ListQuery{Search: []string{"job-", "7"}, Back: true, Limit: 3}, true, -1, "job-017", "job-027", "job-037")
	s.wantPage(jobs.ListQuery{Search: []string{"7"}, From: "job-017", Limit: 3}, false, -1, "job-027", "job-037")
	s.registered(timed("s3", "Reports[%d].Nightly", "1 2 * * *", "s2", "s3")) // a deploy
	s.wantPage(jobs.ListQuery{Search: []string{"*/5"}, Limit: 3}, false, -1)
	s.registered(timed("s2", "Reports[%d].Nightly", "*/5 * * * *", "s2", "s3")) // the old one again, which is not in force
	s.wantPage(jobs.ListQuery{Search: []string{"02:01"}, Limit: 3}, false, -1, "Reports[%d].Nightly")
}

func testRankings(s *suite) {
	s.many(5)
	began := s.now()
	for _, job := range []string{"job-003", "job-001", "job-004", "job-001", "one-off:mail", "unknown"} {
		s.run(job, fmt.Sprint(s.now().UnixMicro()), jobs.OutcomeOK)
	}
	latest, err := s.store.Latest(s.ctx, 3)
	s.must(err)
	if len(latest) != 3 || latest[0].Job != "one-off:mail" || latest[1].Job != "job-001" || latest[2].Job != "job-004" {
		s.Fatalf("Latest = %+v, want once:mail, job-001, job-004", latest)
	}
	if at := latest[0].At; at.Before(began) || at.After(s.now()) || at.Before(latest[2].At) {
		s.Fatalf("Latest = %+v, want times since %s, the latest first", latest, began)
	}
	for job, n := range map[string]int64{"job-000": 2, "job-002": 12, "job-003": 7} {
		c := s.next(job, "m")
		c.InFlight, c.Missed = nil, n
		s.claim(c, jobs.ClaimWon)
	}
	most, err := s.store.MostMissed(s.ctx, 2)
	if s.must(err); !slices.Equal(most, []string{"job-002", "job-003"}) {
		s.Fatalf("MostMissed = %q, want job-002, job-003", most)
	}
	if n := s.look("job-002").Missed; n != 12 {
		s.Fatalf("%d ticks missed, want 12", n)
	}
}
