package sqltest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/sqlstore"
)

// worker has a store make runs of the job j.
type worker struct {
	*testing.T
	s *sqlstore.Store
	n int
}

func (w *worker) register() {
	w.Helper()
	r := jobs.Registration{Session: "s", Offers: []jobs.Offer{{Definition: jobs.Definition{Job: "j"}}}}
	v, err := w.s.Register(w.Context(), r)
	if err := errors.Join(err, v.Jobs[0].Err); err != nil {
		w.Fatal(err)
	}
}

// begin puts a run in flight.
func (w *worker) begin() jobs.Run {
	w.Helper()
	w.n++
	r := jobs.Run{ID: fmt.Sprint("j@", w.n), Job: "j"}
	c := jobs.Claim{Job: "j", Manual: true, Lease: time.Minute, Keep: 20, InFlight: &jobs.InFlight{Owner: "s", Run: r}}
	if got := w.s.Claim(w.Context(), []jobs.Claim{c})[0]; got.Status != jobs.ClaimWon {
		w.Fatal(got)
	}
	return r
}

// end records a run.
func (w *worker) end(r jobs.Run) {
	w.Helper()
	r.Outcome = jobs.OutcomeOK
	if err := w.s.Finish(w.Context(), []jobs.Finish{{Run: r, Owner: "s", Keep: 20}})[0]; err != nil {
		w.Errorf("end %s: %v", r.ID, err)
	}
}

// skip records a tick that is not run.
func (w *worker) skip(reason string) {
	w.Helper()
	v, err := w.s.Look(w.Context(), []string{"j"})
	if err != nil {
		w.Fatal(err)
	}
	w.n++
	at := v.Jobs[0].Cursor
	c := jobs.Claim{
		Job: "j", Prev: at, Tick: at.Add(time.Microsecond), Due: v.Now, Keep: 20, Missed: 1,
		Skipped: &jobs.Run{ID: fmt.Sprint("j@", w.n), Job: "j", Outcome: jobs.OutcomeSkipped, Reason: reason},
	}
	if got := w.s.Claim(w.Context(), []jobs.Claim{c})[0]; got.Status != jobs.ClaimWon {
		w.Errorf("skip %s: %+v", c.Skipped.ID, got)
	}
}

// wants compares the records, the newest first.
func (w *worker) wants(runs ...int) {
	w.Helper()
	all, err := w.s.Runs(w.Context(), []string{"j"}, 100)
	if err != nil {
		w.Fatal(err)
	}
	var ids, want []string
	for _, r := range all[0] {
		ids = append(ids, r.ID)
	}
	for _, n := range runs {
		want = append(want, fmt.Sprint("j@", n))
	}
	if !slices.Equal(ids, want) {
		w.Errorf("the records are %v, want %v", ids, want)
	}
}

// The rows of jobs are deleted or are older ones, and their records stay: a cleanup by hand, a partial restore. Runs are
// recorded again, also those that were in flight, and the records stay in their order.
func TestStore_recordsOfOtherRows(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		const gone = "DELETE FROM lockgen_job WHERE tick_cursor > 1000"
		const older = "UPDATE lockgen_job SET newest = 1 WHERE tick_cursor > 1000"
		for name, c := range map[string]struct {
			query string
			again bool // the job is registered again before the next run
			next  func(w *worker, run jobs.Run)
		}{
			"gone, a run ends":                   {gone, false, (*worker).end},
			"gone, a run ends, registered again": {gone, true, (*worker).end},
			"gone, a tick is skipped":            {gone, true, func(w *worker, _ jobs.Run) { w.skip("late") }},
			"older, a run ends":                  {older, false, (*worker).end},
			"older, a tick is skipped":           {older, false, func(w *worker, _ jobs.Run) { w.skip("late") }},
		} {
			t.Run(name, func(t *testing.T) {
				w := &worker{T: t, s: e.store()}
				w.register()
				for range 4 {
					w.end(w.begin())
				}
				run := w.begin()
				e.exec(t, c.query)
				if c.again {
					w.register()
				}
				c.next(w, run)
				newest := w.n
				w.wants(newest, 4, 3, 2, 1)
				w.register()
				w.end(w.begin())
				w.wants(w.n, newest, 4, 3, 2, 1)
			})
		}
	})
}

// What is only asked about stays unknown, whatever is left of it.
func TestStore_recordsOfUnknownJob(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		w := &worker{T: t, s: e.store()}
		w.register()
		w.end(w.begin())
		e.exec(t, "DELETE FROM lockgen_job WHERE tick_cursor > 1000")
		c := jobs.Claim{Job: "j", Tick: time.Unix(9, 0), Due: time.Unix(9, 0), Lease: time.Minute}
		if got := w.s.Claim(t.Context(), []jobs.Claim{c})[0]; got.Status != jobs.ClaimUnknown {
			t.Errorf("the claim: %+v", got)
		}
		if n := e.count(t, "job"); n != 1 { // the version
			t.Errorf("there are %d jobs", n-1)
		}
	})
}
