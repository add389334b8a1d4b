package storetest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/memstore"
	"github.com/lockgen/lockgen/jobs/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	storetest.Run(t, func(*testing.T) jobs.Store { return memstore.New() })
}

// broken is a store that does not keep its contract: what is set is called before a call, or after it, and may change
// it.
type broken struct {
	jobs.Store
	claim    func(*jobs.Claim)
	claimed  func(*jobs.Claimed)
	finish   func(*jobs.Finish)
	finished func(error) error
	start    func(*jobs.Start)
	reply    func(*jobs.HeartbeatReply)
	runs     func([]jobs.Run) []jobs.Run
	put      func(*jobs.OneOff)
}

func (b broken) Claim(ctx context.Context, claims []jobs.Claim) []jobs.Claimed {
	if b.claim != nil {
		for i := range claims {
			b.claim(&claims[i])
		}
	}
	results := b.Store.Claim(ctx, claims)
	if b.claimed != nil {
		for i := range results {
			b.claimed(&results[i])
		}
	}
	return results
}

func (b broken) Start(ctx context.Context, starts []jobs.Start) []error {
	if b.start != nil {
		for i := range starts {
			b.start(&starts[i])
		}
	}
	return b.Store.Start(ctx, starts)
}

func (b broken) Finish(ctx context.Context, finishes []jobs.Finish) []error {
	if b.finish != nil {
		for i := range finishes {
			b.finish(&finishes[i])
		}
	}
	errs := b.Store.Finish(ctx, finishes)
	if b.finished != nil {
		for i, err := range errs {
			errs[i] = b.finished(err)
		}
	}
	return errs
}

func (b broken) Heartbeat(ctx context.Context, heartbeat jobs.Heartbeat) (jobs.HeartbeatReply, error) {
	p, err := b.Store.Heartbeat(ctx, heartbeat)
	if b.reply != nil {
		b.reply(&p)
	}
	return p, err
}

func (b broken) Runs(ctx context.Context, names []string, limit int) ([][]jobs.Run, error) {
	all, err := b.Store.Runs(ctx, names, limit)
	if b.runs != nil {
		for i := range all {
			all[i] = b.runs(all[i])
		}
	}
	return all, err
}

func (b broken) Put(ctx context.Context, o jobs.OneOff) error {
	if b.put != nil {
		b.put(&o)
	}
	return b.Store.Put(ctx, o)
}

// brokenStores by what is wrong with them, each with the test that must say so.
var brokenStores = map[string]struct {
	store broken
	test  string
}{
	"taken is won": {broken{claimed: func(c *jobs.Claimed) {
		if c.Status == jobs.ClaimTaken {
			c.Status = jobs.ClaimWon
		}
	}}, "claim_is_won_by_one_of_many"},
	"nothing is early": {broken{claim: func(c *jobs.Claim) { c.Due = time.Time{} }}, "claim_refuses_what_is_too_early"},
	"never alone": {broken{claim: func(c *jobs.Claim) {
		if c.InFlight != nil {
			c.InFlight.Backlog = false
		}
	}}, "claim_takes_what_is_owed_one_after_another"},
	"skips are not recorded":     {broken{claim: func(c *jobs.Claim) { c.Skipped = nil }}, "claim_records_what_is_skipped"},
	"missed are not counted":     {broken{claim: func(c *jobs.Claim) { c.Missed = 0 }}, "claim_records_what_is_skipped"},
	"on demand moves the cursor": {broken{claim: func(c *jobs.Claim) { c.Manual = false }}, "claim_on_demand_leaves_the_cursor_alone"},
	"all records are kept":       {broken{finish: func(f *jobs.Finish) { f.Keep = 1000 }}, "runs_are_capped,_latest_first"},
	"hand-backs are never late": {broken{finish: func(f *jobs.Finish) {
		if f.Run.Outcome == "" {
			f.Run.Started = time.Now().Add(time.Hour)
		}
	}}, "finish_that_comes_late_undoes_no_begin"},
	"losses are never late": {broken{finish: func(f *jobs.Finish) {
		if f.Run.Outcome == jobs.OutcomeLost {
			f.Run.Started = time.Now().Add(time.Hour)
		}
	}}, "finish_as_lost_holds_for_what_is_known"},
	"nothing is given up": {broken{finish: func(f *jobs.Finish) {
		if f.Next != nil {
			f.Next.Void = time.Time{}
		}
	}}, "start_that_comes_late_begins_nothing"},
	"orphans need no lease":     {broken{finish: func(f *jobs.Finish) { f.Orphan = false }}, "finish_of_an_orphan_waits_for_its_owner's_lease"},
	"what follows is forgotten": {broken{finish: func(f *jobs.Finish) { f.Next = nil }}, "finish_records_once"},
	"gone is no error":          {broken{finished: func(error) error { return nil }}, "finish_records_once"},
	"fences are doubles":        {broken{start: func(s *jobs.Start) { s.Run.Fence &^= 0xff }}, "start_notes_the_begin"},
	"no orphans":                {broken{reply: func(p *jobs.HeartbeatReply) { p.Orphans = nil }}, "heartbeat_keeps_runs_and_tells_of_orphans"},
	"no notices":                {broken{reply: func(p *jobs.HeartbeatReply) { p.Notices = nil }}, "heartbeat_tells_of_notices"},
	"oldest first": {broken{runs: func(r []jobs.Run) []jobs.Run {
		for i, k := 0, len(r)-1; i < k; i, k = i+1, k-1 {
			r[i], r[k] = r[k], r[i]
		}
		return r
	}}, "runs_are_capped,_latest_first"},
	"skips stand alone": {broken{finish: func(f *jobs.Finish) { f.Run.Author = "bob" }}, "skips_for_one_reason_share_a_record"},
	"any skips share":   {broken{finish: func(f *jobs.Finish) { f.Run.Reason = "" }}, "skips_for_one_reason_share_a_record"},
	"payloads are text": {broken{put: func(o *jobs.OneOff) {
		o.Payload = []byte(strings.ToValidUTF8(string(o.Payload[:len(o.Payload)/2]), "?"))
	}},
		"one-off_jobs_are_put_once"},
}

// brokenEnv names the store that TestBroken is to test.
const brokenEnv = "STORETEST_BROKEN"

// TestBroken is run by TestRun_findsBrokenStores, in a process of its own because it must fail.
func TestBroken(t *testing.T) {
	name := os.Getenv(brokenEnv)
	if name == "" {
		t.Skip("it is run by TestRun_findsBrokenStores")
	}
	storetest.Run(t, func(*testing.T) jobs.Store {
		b := brokenStores[name].store
		b.Store = memstore.New()
		return b
	})
}

// TestRun_findsBrokenStores checks that the suite sees each breach of the contract.
func TestRun_findsBrokenStores(t *testing.T) {
	for name, b := range brokenStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestBroken$", "-test.v")
			cmd.Env = append(os.Environ(), brokenEnv+"="+name)
			out, err := cmd.CombinedOutput()
			if want := "--- FAIL: TestBroken/" + b.test; err == nil || !strings.Contains(string(out), want) {
				t.Errorf("%v, without %q in %s", err, want, out)
			}
		})
	}
}
