package jobs_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	jobmem "github.com/lockgen/lockgen/jobs/memstore"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// Concurrency counts the runs at a time.
type concurrency struct{ running, most, total atomic.Int32 }

func (c *concurrency) job(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		c.total.Add(1)
		now := c.running.Add(1)
		for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
		}
		defer c.running.Add(-1)
		return jobstest.Sleep(d)(ctx)
	}
}

// TestScheduler_permits_boundRuns has a job that takes five times as long as its interval: as many runs as it has permits
// happen at a time, wherever they are, and the others are skipped.
func TestScheduler_permits_boundRuns(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var all concurrency
		for range 3 {
			n := c.Node(Config{DrainTimeout: time.Hour}, 0)
			n.MustAdd(Job{Name: "j", Spec: "* * * * *", Lock: lockrt.Options{Permits: 2}, Run: all.job(290 * time.Second)})
			n.Start()
		}
		time.Sleep(10*time.Minute + 30*time.Second)
		c.Stop()
		runs := c.Finished("j")
		want := "ok ok skipped skipped skipped ok ok skipped skipped skipped"
		if got := jobstest.Outcomes(runs); !strings.HasPrefix(got, want) || all.most.Load() != 2 {
			t.Fatalf("outcomes %q, want %q; %d at once, want 2", got, want, all.most.Load())
		}
		if want := `lock "job:j" is held by 2 others`; runs[2].Reason != want {
			t.Errorf("reason %q, want %q", runs[2].Reason, want)
		}
	})
}

// TestScheduler_permits_pool has two jobs that name one key with the same permits, beside a lock of their own: together
// they have as many runs as the pool lets in, and of each job there is one.
func TestScheduler_permits_pool(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var all concurrency
		var each [3]concurrency
		for range 2 {
			n := c.Node(Config{DrainTimeout: time.Hour}, 0)
			for i, name := range []string{"a", "b", "c"} {
				n.MustAdd(Job{
					Name: name, Spec: "* * * * *", Overlap: OverlapQueue, Misfire: MisfireSkip,
					Each: []lockrt.KeyOptions{{Key: "job:" + name}, {Key: "pool", Permits: 2}},
					Run: func(ctx context.Context) error {
						return errors.Join(context.Cause(ctx), each[i].job(0)(ctx), all.job(30*time.Second)(ctx))
					},
				})
			}
			n.Start()
		}
		time.Sleep(5 * time.Minute)
		c.Stop()
		if all.most.Load() != 2 || all.total.Load() < 9 {
			t.Errorf("%d at once, want 2; %d in all, want 9 or more", all.most.Load(), all.total.Load())
		}
		for i := range each {
			if each[i].total.Load() == 0 {
				t.Errorf("job %d never ran", i)
			}
		}
	})
}

// TestScheduler_eachFunc holds what the function returns, and ends in an error if it fails.
func TestScheduler_eachFunc(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		slots := make(chan int, 1)
		n.MustAdd(Job{Name: "j", Spec: "* * * * *", Run: func(ctx context.Context) error {
			slots <- lockrt.Held(ctx, "pool").Slot()
			return lockrt.AssertHeld(ctx, "own")
		}, EachFunc: func() ([]lockrt.KeyOptions, error) {
			return []lockrt.KeyOptions{{Key: "own"}, {Key: "pool", Permits: 3}}, nil
		}})
		n.MustAdd(Job{Name: "none", Spec: "* * * * *", Run: jobstest.Sleep(0), EachFunc: func() ([]lockrt.KeyOptions, error) {
			return []lockrt.KeyOptions{{Permits: 3}}, nil
		}})
		n.Start()
		if slot := <-slots; slot != 0 {
			t.Errorf("slot %d, want 0", slot)
		}
		time.Sleep(time.Second)
		c.Stop()
		if got := jobstest.Outcomes(c.Finished("j")); got != "ok" {
			t.Errorf("outcomes %q", got)
		}
		if runs := c.Finished("none"); len(runs) != 1 || !strings.Contains(runs[0].Error, "Job.EachFunc") {
			t.Errorf("runs %+v, want an error of EachFunc", runs)
		}
	})
}

// TestAdd_kinds refuses what cannot work when the job is added.
func TestAdd_kinds(t *testing.T) {
	t.Parallel()
	s := schedulerOn(t, memstore.New())
	each := func(k ...lockrt.KeyOptions) []lockrt.KeyOptions { return k }
	for _, c := range []struct {
		job  Job
		want string // "" if it is fine
	}{
		{Job{Lock: lockrt.Options{Permits: 4}}, ""},
		{Job{Lock: lockrt.Options{Permits: 4}, Overlap: OverlapQueue}, ""},
		{Job{Lock: lockrt.Options{Permits: 4}, Overlap: OverlapReplace}, "takes a lock from its holder"},
		{Job{Lock: lockrt.Options{Permits: 4}, Keys: []string{"a"}, Overlap: OverlapAllow}, "bounds nothing"},
		{Job{Lock: lockrt.Options{Permits: 2000}}, `the lock "" has Permits 2000`},
		{Job{Lock: lockrt.Options{Permits: 4, Mode: lockrt.Read}}, "readers and writers, or permits"},
		{Job{Lock: lockrt.Options{Mode: lockrt.Read}}, "nothing keeps its runs apart"},
		{Job{Lock: lockrt.Options{Mode: lockrt.Read}, Keys: []string{"a"}, Overlap: OverlapAllow}, ""},
		{Job{Lock: lockrt.Options{Permits: 2}, Overlap: OverlapAllow}, "there is no lock"},
		{Job{Lock: lockrt.Options{Mode: lockrt.Read}, Overlap: OverlapAllow}, "there is no lock"},
		{Job{Each: []lockrt.KeyOptions{{Key: "a", Permits: 2}, {Key: "a", Permits: 3}}}, "Permits 2 and with 3"},
		{Job{Each: []lockrt.KeyOptions{{Key: "a", Permits: 2}, {Key: "a"}}}, "Permits 2 and with 0"},
		{Job{Lock: lockrt.Options{Mode: 7}}, "Mode(7)"},
		{Job{Each: each(lockrt.KeyOptions{Key: "a", Mode: lockrt.Read}, lockrt.KeyOptions{Key: "b"})}, ""},
		{Job{Each: each(lockrt.KeyOptions{Key: "a", Mode: lockrt.Read}, lockrt.KeyOptions{Key: "b"}),
			Lock: lockrt.Options{MinHold: time.Second}}, "a reader that is gone"},
		{Job{Each: each(lockrt.KeyOptions{Key: "a"}), Lock: lockrt.Options{Permits: 4}}, "set them there"},
		{Job{Each: each(lockrt.KeyOptions{Key: "a"}), Keys: []string{"b"}}, "more than one of Keys"},
		{Job{Each: each(lockrt.KeyOptions{Permits: 4})}, "empty key"},
	} {
		c.job.Name, c.job.Spec, c.job.Run = strings.ReplaceAll(t.Name()+c.want, " ", ""), "@daily", jobstest.Sleep(0)
		c.job.Name += time.Duration(len(c.want)).String() + string(c.job.Overlap)
		switch err := s.Add(c.job); {
		case c.want == "" && err != nil && !strings.Contains(err.Error(), "has a job of that name"):
			t.Errorf("%+v: %v", c.job.Lock, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: %v, want %q", c.job.Lock, err, c.want)
		}
	}
}

// exclusiveOnly is a store without readers and permits: embedding the interface leaves the rest out.
type exclusiveOnly struct{ lockrt.Store }

func (s exclusiveOnly) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	session, err := s.Store.Open(cfg)
	return struct{ lockrt.Session }{session}, err
}

// TestAdd_storeWithoutPermits says so when the job is added, not at its first tick.
func TestAdd_storeWithoutPermits(t *testing.T) {
	t.Parallel()
	s := schedulerOn(t, exclusiveOnly{memstore.New()})
	err := s.Add(Job{Name: "j", Spec: "@daily", Lock: lockrt.Options{Permits: 4}, Run: jobstest.Sleep(0)})
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "exclusiveOnly") {
		t.Errorf("adding a job with permits: %v", err)
	}
	if err := s.Add(Job{Name: "j", Spec: "@daily", Run: jobstest.Sleep(0)}); err != nil {
		t.Errorf("adding a job without: %v", err)
	}
}

// schedulerOn is one that is never run.
func schedulerOn(t *testing.T, store lockrt.Store) *Scheduler {
	t.Helper()
	locks, err := lockrt.New(store, lockrt.Config{Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close(context.WithoutCancel(t.Context())) })
	s, err := New(locks, Config{Store: jobmem.New()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
