package storetest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// end claims the next tick of j and records how it ended.
func (s *suite) end(unique string, outcome jobs.Outcome, change func(*jobs.Run)) jobs.Run {
	s.Helper()
	c := s.next("j", unique)
	s.claim(c, jobs.ClaimWon)
	r := c.InFlight.Run
	r.Outcome, r.Reason, r.Claimed = outcome, `lock "é" is <held>`, c.Tick
	change(&r)
	s.must(s.finish(jobs.Finish{Run: r, Owner: "o1", Keep: 10}))
	return r
}

func asIs(*jobs.Run) {}

func because(reason string) func(*jobs.Run) { return func(r *jobs.Run) { r.Reason = reason } }

// told writes the records of j as "id×ticks", the latest first.
func (s *suite) told() string {
	s.Helper()
	var words []string
	for _, r := range s.runs("j") {
		_, unique, _ := strings.Cut(r.ID, "@")
		words = append(words, fmt.Sprint(unique, "×", r.Ticks))
	}
	return strings.Join(words, " ")
}

func testSkipsShare(s *suite) {
	s.end("a", jobs.OutcomeSkipped, asIs)
	b := s.end("b", jobs.OutcomeSkipped, func(r *jobs.Run) { r.Node, r.Error = "n2", "x" })
	if got := s.runs("j"); len(got) != 1 || got[0].Node != "n2" || got[0].Error != "x" || got[0].Reason != b.Reason ||
		!got[0].Tick.Equal(b.Tick) || !got[0].First.Equal(b.Tick.Add(-time.Microsecond)) || !got[0].Claimed.Equal(b.Claimed) {
		s.Fatalf("records %+v, want one that is the latest's but for its first tick", got)
	}
	expect := func(want, when string) {
		s.Helper()
		if got := s.told(); got != want {
			s.Fatalf("%s: records %s, want %s", when, got, want)
		}
	}
	expect("a×2", "two ticks")
	s.end("c", jobs.OutcomeSkipped, because("other"))
	expect("c×0 a×2", "then one for another reason")
	s.end("d", jobs.OutcomeSkipped, asIs)
	expect("a×3 c×0", "then one for the first reason again")
	c := s.next("j", "")
	c.InFlight, c.Missed, c.Keep = nil, 5, 10
	c.Skipped = &jobs.Run{
		ID: id("j", "e"), Job: "j", Tick: c.Tick, First: c.Prev, Ticks: 5, Outcome: jobs.OutcomeSkipped, Reason: "other",
		Trigger: jobs.TriggerSchedule,
	}
	s.claim(c, jobs.ClaimWon)
	expect("c×6 a×3", "then five with a claim")
	s.end("f", jobs.OutcomeSkipped, func(r *jobs.Run) { r.Trigger = jobs.TriggerMisfire })
	s.end("g", jobs.OutcomeSkipped, func(r *jobs.Run) { r.Trigger = jobs.TriggerManual })
	s.end("h", jobs.OutcomeSkipped, func(r *jobs.Run) { r.Trigger = jobs.TriggerManual })
	s.end("i", jobs.OutcomeSkipped, func(r *jobs.Run) { r.Author = "ada" })
	expect("i×0 h×0 g×0 f×0 c×6 a×3", "then others that stand for themselves")
	s.end("j", jobs.OutcomeSkipped, asIs)
	expect("a×4 i×0 h×0 g×0 f×0 c×6", "then one for the first reason")
	s.end("k", jobs.OutcomeError, asIs)
	s.end("l", jobs.OutcomeError, asIs)
	s.end("m", jobs.OutcomeSkipped, asIs)
	expect("m×0 l×0 k×0 a×4 i×0 h×0 g×0 f×0 c×6", "then runs, and one after them")
}

func testSkipsShareRace(s *suite) {
	s.end("first", jobs.OutcomeOK, asIs)
	const n = 20
	var runs []jobs.Run
	for i := range n {
		c := s.next("j", fmt.Sprint(i))
		s.claim(c, jobs.ClaimWon)
		runs = append(runs, c.InFlight.Run)
	}
	var wg sync.WaitGroup
	for _, r := range runs {
		r.Outcome, r.Reason = jobs.OutcomeSkipped, "held"
		wg.Go(func() {
			if err := s.finish(jobs.Finish{Run: r, Owner: "o1", Keep: 3}); err != nil {
				s.Error(err)
			}
		})
	}
	wg.Wait()
	got := s.runs("j")
	if len(got) != 2 || got[0].Ticks != n || !got[0].First.Equal(runs[0].Tick) || !got[0].Tick.Equal(runs[n-1].Tick) {
		s.Fatalf("records %+v, want one of all %d ticks, and the run before", got, n)
	}
}
