package jobs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// TestScheduler_listsWithoutAPart stops one of three servers of a cluster: lists tell what the others know, and what is
// missing, and RunNow works for jobs on the others, whichever server has the list of nodes.
func TestScheduler_listsWithoutAPart(t *testing.T) {
	t.Parallel()
	r := newClusterRig(t, testenv.ClusterConfig{})
	s := r.start()
	r.reach("all jobs run", r.names, time.Now().Add(-time.Second))
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: r.servers.Addrs(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	locks, err := lockrt.New(redisstore.New(client, redisstore.Config{}), lockrt.Config{Logger: r.log.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close(context.Background()) })
	onlooker, err := New(locks, Config{Logger: r.log.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	if all, err := onlooker.ClusterJobs(t.Context()); err != nil || len(all) != len(r.names) {
		t.Fatalf("ClusterJobs = %d, %v", len(all), err)
	}
	lost := r.masterOf(s, stateKey(s, HandlerPrefix)) // which the list of nodes is beside
	there := r.stateOn(s, lost)
	elsewhere, _ := r.on(s, lost)
	if err := r.servers.Nodes[lost].Pause(); err != nil {
		t.Fatal(err)
	}
	ask := func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), 10*time.Second) }
	check := func(what string, err error) {
		t.Helper()
		var parts *PartsError
		if !errors.As(err, &parts) || len(parts.Parts) == 0 || len(parts.Parts) >= parts.Of ||
			!strings.Contains(err.Error(), "parts of the job store") {
			t.Errorf("%s: %v, want a PartsError", what, err)
		}
	}
	ctx, cancel := ask()
	all, err := onlooker.ClusterJobs(ctx)
	cancel()
	check("ClusterJobs", err)
	for _, info := range all {
		if slices.Contains(there, info.Job.Name) || info.Orphaned || info.Job.Spec != "@every 1s" {
			t.Errorf("listed is %+v", info)
		}
	}
	if want := len(r.names) - len(there); len(all) != want {
		t.Errorf("%d jobs are listed, want %d", len(all), want)
	}
	ctx, cancel = ask()
	all, err = s.ClusterJobs(ctx) // it has them all
	cancel()
	if check("ClusterJobs of a node", err); len(all) != len(r.names) {
		t.Errorf("a node lists %d jobs, want %d", len(all), len(r.names))
	}
	ctx, cancel = ask()
	_, err = onlooker.RunningRuns(ctx)
	cancel()
	check("RunningRuns", err)
	ctx, cancel = ask()
	_, err = onlooker.Failures(ctx, 10)
	cancel()
	check("Failures", err)
	others := len(r.names) - len(there)
	var asking sync.WaitGroup
	for what, list := range map[string]func(ctx context.Context) (int, error){
		"ClusterStatus": func(ctx context.Context) (int, error) {
			all, err := onlooker.ClusterStatus(ctx)
			return len(all), err
		},
		"JobPage": func(ctx context.Context) (int, error) {
			page, err := onlooker.JobPage(ctx, JobQuery{Limit: 100})
			return len(page.Jobs), err
		},
		"CountJobs": func(ctx context.Context) (int, error) {
			n, err := onlooker.CountJobs(ctx)
			return n.Jobs, err
		},
		"LatestJobs": func(ctx context.Context) (int, error) {
			latest, err := onlooker.LatestJobs(ctx, 100)
			return len(latest), err
		},
		"RecentRuns": func(ctx context.Context) (int, error) {
			runs, err := onlooker.RecentRuns(ctx, 1, r.names...)
			return len(slices.DeleteFunc(runs, func(of []Run) bool { return len(of) == 0 })), err
		},
		"MostMissed": func(ctx context.Context) (int, error) {
			_, err := onlooker.MostMissed(ctx, 10)
			return others, err
		},
		"Nodes": func(ctx context.Context) (int, error) {
			_, err := onlooker.Nodes(ctx)
			return others, err
		},
	} {
		asking.Go(func() {
			ctx, cancel := ask()
			defer cancel()
			n, err := list(ctx)
			if check(what, err); n != others {
				t.Errorf("%s tells of %d jobs, want %d", what, n, others)
			}
		})
	}
	asking.Wait()
	if len(there) > 0 {
		ctx, cancel = ask()
		all, err := onlooker.ClusterStatus(ctx, there[0])
		cancel()
		var parts *PartsError
		if err == nil || errors.As(err, &parts) || len(all) != 0 {
			t.Errorf("ClusterStatus of a job in the part that is away: %+v, %v; want no job, and an error about that part", all, err)
		}
	}
	for what, asked := range map[string]*Scheduler{"node": s, "onlooker": onlooker} {
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
		id, err := asked.RunNow(ctx, elsewhere[0], "ada")
		cancel()
		if err != nil {
			t.Errorf("RunNow by a %s: %v", what, err)
			continue
		}
		testsync.Eventually(t, "the run that was asked for ends", func() bool {
			run, err := asked.FindRun(t.Context(), id)
			return err == nil && run.Outcome != ""
		})
	}
	if err := r.servers.Nodes[lost].Resume(); err != nil {
		t.Fatal(err)
	}
}

// TestScheduler_ClusterJobs_afterLoss asks a node for the jobs of the cluster when the store has just lost its data.
func TestScheduler_ClusterJobs_afterLoss(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "j", Spec: "@yearly", Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(10*time.Second + 300*time.Millisecond)
		c.Flush()
		all, err := n.ClusterJobs(context.Background())
		if err != nil || len(all) != 1 || all[0].Job.Spec != "@yearly" || all[0].Orphaned ||
			!slices.Equal(all[0].Nodes, []string{"n0"}) || all[0].Next.IsZero() {
			t.Errorf("ClusterJobs = %+v, %v", all, err)
		}
		c.Stop()
	})
}
