package sqltest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// count returns how many rows of a table there are.
func (e *engine) count(t *testing.T, table string) (n int) {
	t.Helper()
	if err := e.db.QueryRowContext(t.Context(), "SELECT count(*) FROM lockgen_"+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestStore_sweep has everything grow old: what nobody wants any more is deleted, what is in use is not.
func TestStore_sweep(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s := e.store()
		mark := func(what string) {
			t.Helper()
			if _, err := s.Heartbeat(t.Context(), jobs.Heartbeat{Session: what, Lease: time.Minute}); err != nil {
				t.Fatal(err)
			}
		}
		register := func(names ...string) jobs.View {
			t.Helper()
			r := jobs.Registration{Session: "s"}
			for _, name := range names {
				r.Offers = append(r.Offers, jobs.Offer{Definition: jobs.Definition{Job: name}})
			}
			v, err := s.Register(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		run := func(job, id string, finish bool) {
			t.Helper()
			r := jobs.Run{ID: id, Job: job}
			c := jobs.Claim{Job: job, Manual: true, Lease: time.Minute, Keep: 9, InFlight: &jobs.InFlight{Owner: "s", Run: r}}
			if got := s.Claim(t.Context(), []jobs.Claim{c}); got[0].Status != jobs.ClaimWon {
				t.Fatal(got)
			}
			if r.Outcome = jobs.OutcomeOK; finish {
				if err := s.Finish(t.Context(), []jobs.Finish{{Run: r, Owner: "s", Keep: 9}})[0]; err != nil {
					t.Fatal(err)
				}
			}
		}
		register("old", "busy", "new")
		run("old", "o", true)
		run("busy", "b", false)
		mark("dead")
		mark("alive")
		if err := s.Put(t.Context(), letter("past")); err != nil {
			t.Fatal(err)
		}
		due := letter("past").At
		c := jobs.Claim{
			Job: "new", OneOff: "past", Tick: due, Due: time.Unix(1, 0), Lease: time.Minute,
			InFlight: &jobs.InFlight{Owner: "s", Run: jobs.Run{ID: "p", Job: "new"}},
		}
		if got := s.Claim(t.Context(), []jobs.Claim{c}); got[0].Status != jobs.ClaimWon {
			t.Fatal(got)
		}
		if err := s.Put(t.Context(), letter("waits")); err != nil {
			t.Fatal(err)
		}
		year := (401 * 24 * time.Hour).Microseconds()
		for _, query := range []string{
			"UPDATE lockgen_job SET seen = seen - %[1]d WHERE seen > 0",
			"UPDATE lockgen_oneoff SET past = past - %[1]d WHERE past > 0",
			"UPDATE lockgen_node SET alive = alive - %[1]d, beat = beat - %[1]d WHERE session = %[2]s",
		} {
			e.exec(t, fmt.Sprintf(query, year, map[string]string{"postgres": `'dead'::bytea`, "mariadb": "'dead'", "sqlite": "x'64656164'"}[e.name]))
		}
		register("new")
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		page, err := s.List(t.Context(), jobs.ListQuery{Limit: 9})
		if err != nil || !slices.Equal(page.Jobs, []string{"busy", "new"}) {
			t.Errorf("jobs %v, %v; want busy, which has a run, and new", page.Jobs, err)
		}
		// One of the one-off rows tells databases apart; the node s has claimed.
		for table, want := range map[string]int{"oneoff": 2, "record": 0, "node": 2, "run": 2} {
			if n := e.count(t, table); n != want {
				t.Errorf("%d rows in the table %s, want %d", n, table, want)
			}
		}
	})
}

// TestStore_bounded runs a job many times: what is kept of it is the latest records, and no more.
func TestStore_bounded(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s := e.store()
		view, err := s.Register(t.Context(), jobs.Registration{Session: "s", Offers: []jobs.Offer{{Definition: jobs.Definition{Job: "job-0"}}}})
		if err != nil {
			t.Fatal(err)
		}
		cursor := view.Jobs[0].Cursor
		const batch, keep = 100, 7
		for first := 0; first < 10*batch; first += batch {
			var claims []jobs.Claim
			var finishes []jobs.Finish
			for i := first; i < first+batch; i++ {
				tick := cursor.Add(time.Microsecond)
				r := jobs.Run{ID: fmt.Sprint("job-0@", i), Job: "job-0", Tick: tick}
				claims = append(claims, jobs.Claim{
					Job: "job-0", Prev: cursor, Tick: tick, Due: view.Now, Lease: time.Minute, Keep: keep, Missed: 1,
					InFlight: &jobs.InFlight{Owner: "o", Run: r}, Skipped: &jobs.Run{ID: r.ID + "s", Job: "job-0", Outcome: jobs.OutcomeSkipped},
				})
				r.Outcome, cursor = jobs.OutcomeError, tick
				finishes = append(finishes, jobs.Finish{Run: r, Owner: "o", Lease: time.Minute, Keep: keep})
			}
			for _, c := range s.Claim(t.Context(), claims) {
				if c.Status != jobs.ClaimWon {
					t.Fatal(c)
				}
			}
			for _, err := range s.Finish(t.Context(), finishes) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if n := e.count(t, "failure"); n < jobs.KeptFailures || n > jobs.KeptFailures+2*batch {
			t.Errorf("%d failures are kept, want %d and a few", n, jobs.KeptFailures)
		}
		for table, want := range map[string]int{"job": 2, "record": keep, "run": 0, "notice": 0, "node": 1} {
			if n := e.count(t, table); n != want { // one job is the version
				t.Errorf("%d rows in the table %s, want %d", n, table, want)
			}
		}
		runs, err := s.Runs(t.Context(), []string{"job-0"}, 100)
		if err != nil || len(runs[0]) != keep || runs[0][0].ID != "job-0@999" || runs[0][keep-1].ID != "job-0@993" {
			t.Errorf("records %+v, %v; want the last %d", runs, err, keep)
		}
	})
}
