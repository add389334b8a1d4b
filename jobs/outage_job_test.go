package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// fussy is a store that fails for some jobs, in some calls.
type fussy struct {
	Store
	minds func(call, job, oneOff string) error
}

var errFussy = errors.New("wrong kind of value")

func (s *fussy) Claim(ctx context.Context, claims []Claim) []Claimed {
	results := make([]Claimed, len(claims))
	for i, c := range claims {
		if results[i].Err = s.minds("Claim", c.Job, c.OneOff); results[i].Err == nil {
			results[i] = s.Store.Claim(ctx, claims[i:i+1])[0]
		}
	}
	return results
}

func (s *fussy) Start(ctx context.Context, starts []Start) []error {
	errs := make([]error, len(starts))
	for i, c := range starts {
		if errs[i] = s.minds("Start", c.Run.Job, c.Run.OneOff); errs[i] == nil {
			errs[i] = s.Store.Start(ctx, starts[i:i+1])[0]
		}
	}
	return errs
}

func (s *fussy) Finish(ctx context.Context, finishes []Finish) []error {
	errs := make([]error, len(finishes))
	for i, c := range finishes {
		if errs[i] = s.minds("Finish", c.Run.Job, c.Run.OneOff); errs[i] == nil {
			errs[i] = s.Store.Finish(ctx, finishes[i:i+1])[0]
		}
	}
	return errs
}

// A job for which the store fails is named by Err, all the time and by nothing else; the others run on time.
func TestScheduler_Err_oneJobFails(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"Claim", "Start", "Finish"} {
		t.Run(call, func(t *testing.T) { errOfOneJob(t, call, false) })
		t.Run(call+" of a one-off job", func(t *testing.T) { errOfOneJob(t, call, true) })
	}
}

func errOfOneJob(t *testing.T, only string, oneOff bool) {
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var fails atomic.Bool
		fails.Store(true)
		store := &fussy{c.Store, func(call, job, id string) error {
			if fails.Load() && call == only && (job == "bad" || id == "bad") {
				return errFussy
			}
			return nil
		}}
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
		if !oneOff {
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
		if oneOff {
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
		for i := range rounds(200, 50) {
			put(fmt.Sprint("more", i))
			time.Sleep(470 * time.Millisecond)
			if err := n.Err(); err == nil || err.Error() != first.Error() {
				t.Fatalf("Err = %v, want for as long as it lasts what it said first: %v", err, first)
			}
		}
		if late := time.Duration(latest.Load()); late > 100*time.Millisecond {
			t.Errorf("the others were late by up to %s", late)
		}
		time.Sleep(10 * time.Millisecond) // not in the midst of its tries: what fails behind a success is told for longer
		fails.Store(false)
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

// What concerns single jobs is no outage of the store, which serves another job each second, or each minute.
func TestScheduler_Err_isOfTheStore(t *testing.T) {
	t.Parallel()
	locked := fmt.Errorf("jobs: %w", ErrLocked)
	calls := make(map[string]int) // of the calls in a bubble, which come one after another
	for name, of := range map[string]struct {
		spec    string // of the job that is served
		bad     int
		oneOffs int
		minds   func(call, job, oneOff string) error
		most    int // how often the store may seem to be away
	}{
		"first calls fail": {"* * * * * *", 1, 0, func(call, job, _ string) error {
			if calls[call+job]++; job == "bad0" && calls[call+job]%2 == 1 {
				return errFussy
			}
			return nil
		}, 0},
		"twenty jobs are never served": {"* * * * * *", 20, 0, func(_, job, _ string) error {
			if strings.HasPrefix(job, "bad") {
				return errFussy
			}
			return nil
		}, 0},
		"thousands of one-off jobs are never served": {"* * * * * *", 0, 1500, func(_, _, oneOff string) error {
			if strings.HasPrefix(oneOff, "bad") {
				return errFussy
			}
			return nil
		}, 0},
		"one is locked, another one runs each minute": {"0 * * * * *", 1, 0, func(_, job, _ string) error {
			if job == "bad0" {
				return locked
			}
			return nil
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
				var log testsync.Log
				var calling sync.Mutex
				n := c.Node(Config{Logger: log.Logger(), Store: &fussy{c.Store, func(call, job, oneOff string) error {
					calling.Lock()
					defer calling.Unlock()
					return of.minds(call, job, oneOff)
				}}}, 0)
				n.MustAdd(Job{Name: "good", Spec: of.spec, Run: func(context.Context) error { return nil }})
				for i := range of.bad {
					n.MustAdd(Job{Name: fmt.Sprint("bad", i), Spec: "*/5 * * * * *", Run: func(context.Context) error { return nil }})
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
				for second := range rounds(180, 75) {
					put(fmt.Sprint("good", second))
					time.Sleep(time.Second)
					if second == 60 {
						for i := range of.oneOffs {
							put(fmt.Sprint("bad", i))
						}
					}
				}
				c.Stop()
				if got := strings.Count(log.String(), "job store unavailable"); got > of.most {
					t.Errorf("the log says %d times that the store is away, want at most %d", got, of.most)
				}
			})
		})
	}
}

// While the store is away nothing is said of single jobs: it fails for all.
func TestScheduler_Err_ofAnOutageBesideABadJob(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var down atomic.Bool
		n := c.Node(Config{Store: &fussy{c.Store, func(_, job, _ string) error {
			if job == "bad" || down.Load() {
				return errFussy
			}
			return nil
		}}}, 0)
		for _, name := range []string{"good", "bad"} {
			n.MustAdd(Job{Name: name, Spec: "* * * * * *", Run: func(context.Context) error { return nil }})
		}
		n.Start()
		for _, away := range []bool{false, true, false} {
			down.Store(away)
			time.Sleep(time.Minute)
			err := n.Err()
			if err == nil || strings.Contains(err.Error(), `"bad"`) == away || strings.Contains(err.Error(), "unavailable since") != away {
				t.Errorf("Err = %v; the store is away: %t", err, away)
			}
		}
		c.Stop()
	})
}

// A node that wins no claims learns from the cursors that the store takes those of others: on it, too, a job for which
// claims fail is none of the store, in Err and in the log.
func TestScheduler_Err_oneJobFailsOnEveryNode(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		logs := make([]testsync.Log, 3)
		for i := range logs {
			n := c.Node(Config{Logger: logs[i].Logger(), Store: &fussy{c.Store, func(call, job, _ string) error {
				if call == "Claim" && job == "bad" {
					return errFussy
				}
				return nil
			}}}, 0)
			n.MustAdd(Job{Name: "good", Spec: "* * * * * *", Run: jobstest.Sleep(0)})
			n.MustAdd(Job{Name: "bad", Spec: "*/5 * * * * *", Run: jobstest.Sleep(0)})
			n.Start()
		}
		time.Sleep(10 * time.Minute)
		for i, n := range c.Nodes() {
			if err := n.Err(); err == nil || !strings.Contains(err.Error(), `claims of job "bad"`) {
				t.Errorf("%s: Err = %v, want it to name the job", n.Name(), err)
			}
			if text := logs[i].String(); strings.Contains(text, "store unavailable") {
				t.Errorf("%s has told of an outage:\n%s", n.Name(), text)
			}
		}
		c.Stop()
	})
}

// A one-off job that cannot be claimed is named while ticks are claimed; when many cannot, and no other is, claims of
// one-off jobs are away.
func TestScheduler_Err_oneOffsFailBesideTicks(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{Store: &fussy{c.Store, func(call, _, oneOff string) error {
			if call == "Claim" && oneOff != "" {
				return errFussy
			}
			return nil
		}}}, 0)
		n.AddHandler(Handler{Name: "mail", Run: func(context.Context, string, []byte) error { return nil }})
		n.MustAdd(Job{Name: "good", Spec: "* * * * * *", Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(10 * time.Second)
		at := func(id string) {
			if err := n.At(t.Context(), "mail", id, time.Now(), nil); err != nil {
				t.Fatal(err)
			}
		}
		at("first")
		for range 5 {
			time.Sleep(time.Minute)
			if err := n.Err(); err == nil || !strings.Contains(err.Error(), `claims of one-off job "first"`) {
				t.Errorf("Err = %v, want it to name the one-off job", err)
			}
		}
		for i := range 20 {
			at(fmt.Sprint("more", i))
		}
		time.Sleep(time.Minute)
		if err := n.Err(); err == nil || !strings.Contains(err.Error(), "store unavailable") {
			t.Errorf("Err = %v, want the store where no one-off job can be claimed", err)
		}
		c.Stop()
	})
}

// A job for which claims fail, or which is locked, is not asked for again at once.
func TestScheduler_oneJobFails_pause(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"fails": errFussy, "locked": fmt.Errorf("busy row: %w", ErrLocked)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
				var claims atomic.Int64
				n := c.Node(Config{Store: &fussy{c.Store, func(call, job, _ string) error {
					if call == "Claim" && job == "bad" {
						claims.Add(1)
						return err
					}
					return nil
				}}}, 0)
				n.MustAdd(Job{Name: "good", Spec: "* * * * * *", Run: jobstest.Sleep(0)})
				n.MustAdd(Job{Name: "bad", Spec: "@every 10m", Run: jobstest.Sleep(0)})
				n.Start()
				time.Sleep(15 * time.Minute)
				before := claims.Load()
				time.Sleep(time.Minute)
				most := int64(20)
				if errors.Is(err, ErrLocked) {
					most = 65
				}
				if got := claims.Load() - before; got < 10 || got > most {
					t.Errorf("%d claims in a minute, want 10 to %d", got, most)
				}
				c.Stop()
			})
		})
	}
}

// Where no node is served, or one is not served for anything, that is the store's failure and none of each job: also if it
// comes to one node after the other, and if Resume moves a cursor meanwhile.
func TestScheduler_Err_outageOfClaims(t *testing.T) {
	t.Parallel()
	for _, apart := range []time.Duration{0, time.Second, 3 * time.Second, 30 * time.Second, -1} {
		for _, spec := range []string{"* * * * * *", "*/20 * * * * *"} {
			t.Run(fmt.Sprint(apart, " ", spec), func(t *testing.T) {
				t.Parallel()
				jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
					var out [3]atomic.Bool
					var first *jobstest.Node
					for i := range out {
						n := c.Node(Config{Store: &fussy{c.Store, func(call, _, _ string) error {
							if call == "Claim" && out[i].Load() {
								return errFussy
							}
							return nil
						}}}, 0)
						for j := range 10 {
							n.MustAdd(Job{Name: fmt.Sprint("job", j), Spec: spec, Run: jobstest.Sleep(0)})
						}
						if n.Start(); i == 0 {
							first = n
						}
					}
					time.Sleep(30*time.Second + 500*time.Millisecond)
					down := c.Nodes()
					if apart < 0 {
						down = down[:1]
					}
					if err := first.Pause(t.Context(), "job0", "ada", ""); err != nil {
						t.Fatal(err)
					}
					for i := range down {
						out[i].Store(true)
						time.Sleep(max(apart, 0))
					}
					time.Sleep(2 * time.Minute)
					if err := first.Resume(t.Context(), "job0", "ada"); err != nil {
						t.Fatal(err)
					}
					for range rounds(20, 3) {
						time.Sleep(31 * time.Second)
						for _, n := range down {
							if err := n.Err(); err == nil || !strings.Contains(err.Error(), "store unavailable") {
								t.Errorf("%s: Err = %v, want the store", n.Name(), err)
							}
						}
					}
					for i := range down {
						out[i].Store(false)
					}
					c.Stop()
				})
			})
		}
	}
}
