package jobs_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_ClusterJobs lists the cluster from a scheduler without jobs that does not run, through a deploy and the
// end of the nodes.
func TestScheduler_ClusterJobs(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx := context.Background()
		onlooker := c.Node(Config{}, 0)
		list := func() map[string]Info {
			t.Helper()
			infos, err := onlooker.ClusterJobs(ctx)
			if err != nil {
				t.Fatal(err)
			}
			byName := make(map[string]Info)
			for _, info := range infos {
				byName[info.Job.Name] = info
			}
			return byName
		}
		old := c.Node(Config{Program: "shop", Version: "v1"}, 0)
		old.MustAdd(Job{Name: "j", Spec: "0 3 * * *", TZ: "Europe/Berlin", Retries: 2, Run: jobstest.Sleep(0)})
		old.MustAdd(Job{Name: "every", Spec: "@every 90s", Run: jobstest.Sleep(0)})
		old.Start()
		time.Sleep(2 * time.Second)
		j := list()["j"]
		if len(list()) != 2 || j.Job.Spec != "0 3 * * *" || j.Zone.String() != "Europe/Berlin" || j.Job.Retries != 2 ||
			j.Program != "shop" || j.Version != "v1" || !slices.Equal(j.Nodes, []string{"n1"}) || j.Orphaned {
			t.Fatalf("ClusterJobs = %+v, want j as n1 has it", list())
		}
		if want := time.Date(2000, 1, 1, 2, 0, 0, 0, time.UTC); !j.Next.Equal(want) {
			t.Errorf("next tick %s, want %s", j.Next, want)
		}
		if next := list()["every"].Next; next.Unix()%90 != 0 {
			t.Errorf("next tick %s of every 90 s", next)
		}
		deployed := c.Node(Config{Program: "shop", Version: "v2"}, 0)
		deployed.MustAdd(Job{Name: "j", Spec: "30 4 * * *", TZ: "Asia/Tokyo", Run: jobstest.Sleep(0)})
		deployed.Start()
		time.Sleep(2 * time.Second)
		if j := list()["j"]; j.Job.Spec != "30 4 * * *" || j.Version != "v2" || len(j.Nodes) != 2 {
			t.Errorf("after a deploy: %+v, want the newer definition, of two nodes", j)
		} else if up := j.Upcoming(time.Now(), 2); len(up) != 2 || up[0].Tick.Format("15:04 MST") != "04:30 JST" {
			t.Errorf("upcoming ticks %v, want 04:30 in Tokyo", up)
		}
		deployed.Crash()
		time.Sleep(time.Minute)
		if j := list()["j"]; j.Job.Spec != "0 3 * * *" || len(j.Nodes) != 1 {
			t.Errorf("after the death of the deployed node: %+v, want the old definition", j)
		}
		if err := onlooker.Pause(ctx, "j", "ada", "holidays"); err != nil {
			t.Fatal(err)
		}
		statuses, err := onlooker.ClusterStatus(ctx)
		if err != nil || len(statuses) != 2 || statuses[1].Job.Name != "j" || statuses[1].Paused == nil ||
			!statuses[1].Next.IsZero() {
			t.Errorf("ClusterStatus = %+v, %v; want every and j, which is paused", statuses, err)
		}
		if err := onlooker.At(ctx, "mail", "m1", time.Now().Add(time.Hour), nil); err != nil {
			t.Fatal(err)
		}
		old.Stop()
		for name, info := range list() {
			if !info.Orphaned || len(info.Nodes) != 0 {
				t.Errorf("%s after the end of all nodes: %+v, want it orphaned", name, info)
			}
		}
		if _, there := list()["one-off:mail"]; !there {
			t.Errorf("jobs %v, want the handler that a one-off job waits for", list())
		}
		if _, err := onlooker.ClusterStatus(ctx, "k"); !errors.Is(err, ErrUnknownJob) {
			t.Errorf("ClusterStatus of k: %v, want ErrUnknownJob", err)
		}
		c.Stop()
	})
}

// TestScheduler_otherProgram has two services with a job of the same name in one namespace: the second one is refused,
// says so, and gets the job when the first is gone.
func TestScheduler_otherProgram(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		begin := func(program string) *jobstest.Node {
			n := c.Node(Config{Program: program}, 0)
			n.MustAdd(Job{Name: "main.cleanup", Spec: "* * * * *", Run: jobstest.Sleep(time.Second)})
			n.MustAdd(Job{Name: program + ".own", Spec: "* * * * *", Run: jobstest.Sleep(time.Second)})
			n.Start()
			time.Sleep(2 * time.Second)
			return n
		}
		shop, mail := begin("shop"), begin("mail")
		if err := shop.Err(); err != nil {
			t.Errorf("the first program: %v", err)
		}
		err := mail.Err()
		if !errors.Is(err, ErrOtherProgram) || !strings.Contains(err.Error(), `"shop"`) ||
			!strings.Contains(err.Error(), `"mail"`) {
			t.Errorf("the second program: %v, want ErrOtherProgram with both names", err)
		}
		time.Sleep(10 * time.Minute)
		shop.Stop()
		time.Sleep(10 * time.Minute)
		if err := mail.Err(); err != nil {
			t.Errorf("after the end of the first program: %v", err)
		}
		c.Stop()
		for _, r := range c.Finished("main.cleanup") {
			if before := r.Tick.Before(time.Date(2000, 1, 1, 0, 10, 30, 0, time.UTC)); before != (r.Node == "n0") {
				t.Errorf("tick %s ran on %s", r.Tick, r.Node)
			}
		}
		if n := len(c.Finished("mail.own")); n != 20 {
			t.Errorf("%d runs of the job that only the second program has, want 20", n)
		}
	})
}

// The store compares the words of a search with every name, while nobody else is served.
func TestScheduler_JobPage_hugeQuery(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "e", Spec: "@daily", Run: func(context.Context) error { return nil }})
		n.Start()
		time.Sleep(time.Second)
		for _, search := range []string{strings.Repeat("e", 201), "a b c d e f g h i j k"} {
			if _, err := n.JobPage(context.Background(), JobQuery{Search: search, Limit: 1}); !errors.Is(err, ErrSearch) {
				t.Errorf("a search for %q: %v", search, err)
			}
		}
		for _, q := range []JobQuery{
			{Search: strings.Repeat("e ", 100), Limit: 1}, {Limit: math.MaxInt}, {Limit: math.MaxInt, Back: true},
		} {
			if page, err := n.JobPage(context.Background(), q); err != nil || len(page.Jobs) != 1 {
				t.Errorf("%+v: %+v, %v", q, page, err)
			}
		}
		n.Stop()
	})
}

// TestScheduler_JobPage pages through the jobs of two nodes from one that has none.
func TestScheduler_JobPage(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx := context.Background()
		onlooker := c.Node(Config{}, 0)
		add := func(n *jobstest.Node, names ...string) {
			for _, name := range names {
				n.MustAdd(Job{Name: name, Spec: "0 3 * * *",
					Run: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
			}
			n.Start()
		}
		old := c.Node(Config{Program: "shop"}, 0)
		add(old, "a", "b", "c", "d")
		time.Sleep(10 * time.Second)
		deployed := c.Node(Config{Program: "shop"}, 0)
		add(deployed, "a", "c", "d", "e")
		time.Sleep(2 * time.Second)
		want := func(q JobQuery, more bool, before int, names ...string) []Status {
			t.Helper()
			page, err := onlooker.JobPage(ctx, q)
			var got []string
			for _, st := range page.Jobs {
				got = append(got, st.Job.Name)
			}
			if err != nil || !slices.Equal(got, names) || page.More != more || page.Before != before {
				t.Errorf("JobPage of %+v = %q, %+v, %v; want %q", q, got, page, err, names)
			}
			return page.Jobs
		}
		want(JobQuery{Limit: 2}, true, 0, "a", "b")
		want(JobQuery{From: "b", Limit: 9}, false, 2, "c", "d", "e")
		want(JobQuery{Search: "Every DAY 03:00", Back: true, Limit: 2}, true, -1, "d", "e")
		for _, job := range []string{"d", "b"} {
			if _, err := onlooker.RunNow(ctx, job, "ada"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Second)
		if running := want(JobQuery{State: StateRunning, Limit: 9}, false, 0, "b", "d"); len(running[0].Running) != 1 {
			t.Errorf("%+v, want a run", running[0])
		}
		want(JobQuery{State: StateRunning, From: "b", Limit: 9}, false, 1, "d")
		want(JobQuery{State: StateRunning, Search: "shop", Limit: 1}, true, -1, "b")
		want(JobQuery{State: StateOrphaned, Limit: 9}, false, -1)
		old.Crash()
		time.Sleep(time.Minute)
		want(JobQuery{State: StateOrphaned, Limit: 9}, false, -1, "b")
		if n, err := onlooker.CountJobs(ctx); err != nil || n.Jobs != 5 || n.Unseen != 1 {
			t.Errorf("CountJobs = %+v, %v; want one of five without a node", n, err)
		}
		time.Sleep(7 * time.Hour)
		want(JobQuery{State: StateOrphaned, Limit: 9}, false, -1, "b")
		named, err := onlooker.ClusterJobs(ctx, "x", "e", "b")
		if err != nil || len(named) != 2 || named[0].Job.Name != "b" || !named[0].Orphaned || named[1].Job.Name != "e" {
			t.Errorf("ClusterJobs of three = %+v, %v; want b, which is orphaned, and e", named, err)
		}
		c.Stop()
		if n, err := onlooker.CountJobs(ctx); err != nil || n.Unseen != 5 {
			t.Errorf("CountJobs after the end of all nodes = %+v, %v; want all without a node", n, err)
		}
	})
}
