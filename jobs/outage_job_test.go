package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// fussy is a store that fails for one job only, in one kind of call.
type fussy struct {
	Store
	only   string // Claim, Start or Finish
	oneOff bool
	fails  atomic.Bool
}

var errFussy = errors.New("wrong kind of value")

func (s *fussy) minds(call, job, oneOff string) bool {
	return s.fails.Load() && s.only == call && (job == "bad" || s.oneOff && oneOff == "bad")
}

func (s *fussy) Claim(ctx context.Context, claims []Claim) []Claimed {
	results := make([]Claimed, len(claims))
	for i, c := range claims {
		if s.minds("Claim", c.Job, c.OneOff) {
			results[i].Err = errFussy
		} else {
			results[i] = s.Store.Claim(ctx, claims[i:i+1])[0]
		}
	}
	return results
}

func (s *fussy) Start(ctx context.Context, starts []Start) []error {
	errs := make([]error, len(starts))
	for i, c := range starts {
		if s.minds("Start", c.Run.Job, c.Run.OneOff) {
			errs[i] = errFussy
		} else {
			errs[i] = s.Store.Start(ctx, starts[i:i+1])[0]
		}
	}
	return errs
}

func (s *fussy) Finish(ctx context.Context, finishes []Finish) []error {
	errs := make([]error, len(finishes))
	for i, c := range finishes {
		if s.minds("Finish", c.Run.Job, c.Run.OneOff) {
			errs[i] = errFussy
		} else {
			errs[i] = s.Store.Finish(ctx, finishes[i:i+1])[0]
		}
	}
	return errs
}

// A job for which the store fails is named by Err, all the time and by nothing else; the others run on time.
func TestScheduler_Err_oneJobFails(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"Claim", "Start", "Finish"} {
		t.Run(call, func(t *testing.T) { errOfOneJob(t, &fussy{only: call}) })
		t.Run(call+" of a one-off job", func(t *testing.T) { errOfOneJob(t, &fussy{only: call, oneOff: true}) })
	}
}

func errOfOneJob(t *testing.T, store *fussy) {
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		store.Store = c.Store
		store.fails.Store(true)
		var log testsync.Log
		var latest atomic.Int64 // how late a tick of the others was, at the most
		n := c.Node(Config{Store: store, Logger: log.Logger(), OnRun: func(r Run) {
			if late := r.Started.Sub(r.Tick); r.Job != "bad" && r.OneOff != "bad" && int64(late) > latest.Load() {
				latest.Store(int64(late))
			}
		}}, 0)
		for i, spec := range []string{"* * * * * *", "*/2 * * * * *", "*/7 * * * * *"} {
			n.MustAdd(Job{Name: fmt.Sprint("good", i), Spec: spec, Run: func(context.Context) error { return nil }})
		}
		if !store.oneOff {
			n.MustAdd(Job{Name: "bad", Spec: "*/5 * * * * *", Run: jobstest.Sleep(0)})
		}
		if err := n.AddHandler(Handler{Name: "mail", Run: func(context.Context, string, []byte) error { return nil }}); err != nil {
			t.Fatal(err)
		}
		n.Start()
		put := func(id string) {
			if err := n.At(t.Context(), "mail", id, time.Now(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if store.oneOff {
			put("bad")
		}
		for i := range 30 {
			put(fmt.Sprint("good", i))
			time.Sleep(time.Second)
		}
		latest.Store(0)
		first := n.Err()
		if !errors.Is(first, errFussy) || strings.Contains(first.Error(), "unavailable") || !strings.Contains(first.Error(), `"bad"`) {
			t.Fatalf("Err = %v, want it to name the job", first)
		}
		for i := range 200 {
			put(fmt.Sprint("more", i))
			time.Sleep(470 * time.Millisecond)
			if err := n.Err(); err == nil || err.Error() != first.Error() {
				t.Fatalf("Err = %v, want for as long as it lasts what it said first: %v", err, first)
			}
		}
		if late := time.Duration(latest.Load()); late > 100*time.Millisecond {
			t.Errorf("the others were late by up to %s", late)
		}
		store.fails.Store(false)
		time.Sleep(20 * time.Second)
		if err := n.Err(); err != nil {
			t.Errorf("Err = %v when the store serves the job", err)
		}
		c.Stop()
		for want, most := range map[string]int{
			"fails for this job": 1, "does not fail for this job any more": 1,
			"job store unavailable": 1, "job store available again": 1, // until another job is served
		} {
			if got := strings.Count(log.String(), want); got > most || got == 0 && strings.Contains(want, "this job") {
				t.Errorf("the log says %d times %q:\n%s", got, want, log.String())
			}
		}
	})
}
