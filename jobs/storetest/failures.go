package storetest

import (
	"fmt"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// testFailures ends runs of two jobs, of which only one record each is kept: the failures are all there, the latest
// first, until there are too many.
func testFailures(s *suite) {
	first := s.next("often", "a").Tick
	end := func(i int, o jobs.Outcome) jobs.Run {
		job := []string{"often", "seldom"}[i%2]
		p := pending(job, fmt.Sprint("r", i), "o1", first)
		s.claim(jobs.Claim{Job: job, Manual: true, InFlight: p, Lease: time.Minute, Keep: 1}, jobs.ClaimWon)
		r := p.Run
		r.Outcome, r.Error, r.Ended = o, fmt.Sprint("error ", i), first.Add(time.Duration(i)*time.Second)
		s.must(s.finish(jobs.Finish{Run: r, Owner: "o1", Lease: time.Minute, Keep: 1}))
		return r
	}
	outcomes := []jobs.Outcome{jobs.OutcomeError, jobs.OutcomeOK, jobs.OutcomePanic, jobs.OutcomeSkipped, jobs.OutcomeTimeout,
		jobs.OutcomeCancelled, jobs.OutcomeLost, jobs.OutcomeOK, jobs.OutcomeOK}
	for i, o := range outcomes {
		end(i, o)
	}
	failures := func(limit int) []jobs.Run {
		s.Helper()
		all, err := s.store.Failures(s.ctx, limit)
		s.must(err)
		return all
	}
	for limit, want := range map[int]string{-1: "", 0: "", 2: "lost timeout ", 100: "lost timeout panic error "} {
		got := ""
		for _, r := range failures(limit) {
			got += string(r.Outcome) + " "
		}
		if got != want {
			s.Fatalf("the last %d failures are %q, want %q", limit, got, want)
		}
	}
	if got := failures(1)[0]; got.ID != id("often", "r6") || got.Error != "error 6" {
		s.Errorf("the last failure is %+v", got)
	}
	const many = 450
	for i := len(outcomes); i < len(outcomes)+many; i++ {
		end(i, jobs.OutcomeError)
	}
	all := failures(10 * many)
	if n := len(all); n < 200 || n >= many {
		s.Errorf("%d failures of %d are kept, want at least 200 and not all", n, many)
	}
	for i := range 200 {
		if want := fmt.Sprint("error ", len(outcomes)+many-1-i); all[i].Error != want {
			s.Fatalf("failure number %d from the last is %q, want %q", i, all[i].Error, want)
		}
	}
}
