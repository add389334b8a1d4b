package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// testFailures ends runs of two jobs, of which only one record each is kept: the failures are all there, the latest
// first, until there are too many.
func testFailures(s *suite) {
	first := s.next("often", "a").Tick
	// end ends runs one after another, from number i on.
	end := func(i int, outcomes ...jobs.Outcome) {
		claims := make([]jobs.Claim, len(outcomes))
		for j := range outcomes {
			job := []string{"often", "seldom"}[(i+j)%2]
			p := pending(job, fmt.Sprint("r", i+j), "o1", first)
			claims[j] = jobs.Claim{Job: job, Manual: true, InFlight: p, Lease: time.Minute, Keep: 1}
		}
		for _, won := range s.store.Claim(s.ctx, claims) {
			s.must(won.Err)
		}
		for j, o := range outcomes {
			r := claims[j].InFlight.Run
			r.Outcome, r.Error, r.Ended = o, fmt.Sprint("error ", i+j), first.Add(time.Duration(i+j)*time.Second)
			s.must(s.finish(jobs.Finish{Run: r, Owner: "o1", Lease: time.Minute, Keep: 1}))
		}
	}
	outcomes := []jobs.Outcome{jobs.OutcomeError, jobs.OutcomeOK, jobs.OutcomePanic, jobs.OutcomeSkipped, jobs.OutcomeTimeout,
		jobs.OutcomeCancelled, jobs.OutcomeLost, jobs.OutcomeOK, jobs.OutcomeOK}
	end(0, outcomes...)
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
	end(len(outcomes), slices.Repeat([]jobs.Outcome{jobs.OutcomeError}, many)...)
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
