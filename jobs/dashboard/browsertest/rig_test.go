package browsertest

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/dashboard"
	"github.com/lockgen/lockgen/jobs/jobstest"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// evil is the name of a job that must not become part of a page.
const evil = `<script>alert("job")</script>`

// rig is a cluster of three real nodes in memory, with the dashboard of the first.
type rig struct {
	cluster *jobstest.Cluster
	nodes   []*jobstest.Node
	server  *httptest.Server
	broken  atomic.Bool // the job "import" fails
}

// newRig starts the cluster. Of its jobs "index" runs until it is cancelled, once somebody asks for it; "import" fails
// while it is told to; the others wait for times that do not come in a test.
func newRig(t *testing.T, cfg dashboard.Config) *rig {
	t.Helper()
	r := &rig{cluster: jobstest.New(t)}
	cfg.Logger = slog.New(slog.DiscardHandler)
	for range 3 {
		n := r.cluster.Node(jobs.Config{DrainTimeout: -1}, 0)
		for _, j := range r.jobs() {
			n.MustAdd(j)
		}
		err := n.AddHandler(jobs.Handler{Name: "mail", Run: func(context.Context, string, []byte) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		n.Start()
		r.nodes = append(r.nodes, n)
	}
	mux := http.NewServeMux()
	mux.Handle("/ops/jobs/", http.StripPrefix("/ops/jobs", dashboard.Handler(r.nodes[0].Scheduler, cfg)))
	r.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		r.server.Close()
		r.cluster.Stop()
	})
	r.await(t, "three nodes that know the jobs", func(ctx context.Context) bool {
		nodes, err := r.nodes[0].Nodes(ctx)
		if err != nil || len(nodes) != 3 {
			return false
		}
		_, err = r.nodes[0].RunNow(ctx, "warm-up", "test")
		return err == nil
	})
	return r
}

// share lets all nodes read one lock and two of them hold a permit of another, for as long as the test runs.
func (r *rig) share(t *testing.T) (permits []*lockrt.Lease) {
	t.Helper()
	for i, n := range r.nodes {
		hold := func(key string, o lockrt.Options) *lockrt.Lease {
			o.TTL = time.Minute
			lease, err := n.Locker().Acquire(t.Context(), key, o)
			if err != nil {
				t.Fatal(err)
			}
			return lease
		}
		hold("catalog:"+evil, lockrt.Options{Mode: lockrt.Read})
		if i < 2 {
			permits = append(permits, hold("gpu", lockrt.Options{Permits: 2}))
		}
	}
	return permits
}

func (r *rig) jobs() []jobs.Job {
	const never = "0 0 29 2 *"
	return []jobs.Job{
		{Name: "report", Spec: "30 2 * * *", TZ: "Europe/Vienna", Run: jobstest.Sleep(0)},
		{Name: "warm-up", Spec: never, Run: jobstest.Sleep(0), Overlap: jobs.OverlapAllow},
		{Name: evil, Spec: never, Run: jobstest.Sleep(0)},
		{Name: "index", Spec: never, Lock: lockrt.Options{TTL: 10 * time.Second}, Run: func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}},
		{Name: "import", Spec: never, Run: func(context.Context) error {
			if r.broken.Load() {
				return errors.New("dial tcp 192.0.2.1:443: <b>connection refused</b>")
			}
			return nil
		}},
	}
}

func (r *rig) base() string { return r.server.URL + "/ops/jobs/" }

// await asks until the answer is yes.
func (r *rig) await(t *testing.T, what string, yes func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for !yes(ctx) {
		select {
		case <-ctx.Done():
			t.Fatalf("never came true: %s", what)
		case <-ticker.C:
		}
	}
}

// run runs a job and returns the ID of the run.
func (r *rig) run(t *testing.T, job string) string {
	t.Helper()
	id, err := r.nodes[0].RunNow(t.Context(), job, "test")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// awaitOutcome returns when a run has ended, with its record.
func (r *rig) awaitOutcome(t *testing.T, id string) (run jobs.Run) {
	t.Helper()
	r.await(t, "the end of "+id, func(ctx context.Context) bool {
		var err error
		run, err = r.nodes[0].FindRun(ctx, id)
		return err == nil && run.Outcome != ""
	})
	return run
}

// awaitRunning returns when a run has begun.
func (r *rig) awaitRunning(t *testing.T, id string) {
	t.Helper()
	r.await(t, "the start of "+id, func(ctx context.Context) bool {
		run, err := r.nodes[0].FindRun(ctx, id)
		return err == nil && !run.Started.IsZero()
	})
}

var operator = dashboard.Config{Title: "Shop", Authorize: func(*http.Request) (dashboard.User, error) {
	return dashboard.User{Name: "ada", Role: dashboard.RoleOperator}, nil
}}
