package memstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/memstore"
)

// A one-off job that had its time may be put again a day later, and not before, however little has come since.
func TestStore_forgetsThePast(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	store := memstore.NewAt(func() time.Time { return now })
	put := func(id string) bool {
		t.Helper()
		if err := store.Put(t.Context(), jobs.OneOff{ID: id, Handler: "h", At: now}); err != nil {
			t.Fatal(err)
		}
		waiting, err := store.Waiting(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return len(waiting) == 1
	}
	claim := func(id string) {
		t.Helper()
		run := jobs.Run{ID: jobs.HandlerPrefix + "h@" + id, Job: jobs.HandlerPrefix + "h", OneOff: id}
		c := jobs.Claim{Job: run.Job, OneOff: id, Due: now, InFlight: &jobs.InFlight{Run: run, Owner: "o"}, Lease: time.Minute}
		if got := store.Claim(t.Context(), []jobs.Claim{c})[0]; got.Status != jobs.ClaimWon || got.Err != nil {
			t.Fatalf("%+v", got)
		}
		run.Outcome = jobs.OutcomeOK
		if err := store.Finish(t.Context(), []jobs.Finish{{Run: run, Owner: "o", Keep: 1}})[0]; err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3000 {
		if id := fmt.Sprint(i); !put(id) {
			t.Fatalf("one-off job %s is not put", id)
		} else {
			claim(id)
		}
	}
	if put("0") || put("2999") {
		t.Error("one of the last day is put again")
	}
	now = now.Add(jobs.OneOffRetention + time.Second)
	if !put("2999") {
		t.Error("one of an earlier day is not put")
	}
}
