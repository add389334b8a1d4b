package jobs_test

import (
	"context"
	"errors"
	"fmt"
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
// missing, and RunNow works for jobs on the others, whichever server has the list of nodes. So it is with a client that
// does not heed deadlines.
func TestScheduler_listsWithoutAPart(t *testing.T) {
	t.Parallel()
	r := newClusterRig(t, testenv.ClusterConfig{})
	s := r.start()
	r.reach("all jobs run", r.names, time.Now().Add(-time.Second))
	onlooker, plain := r.onlooker(t, true), r.onlooker(t, false)
	for _, s := range []*Scheduler{onlooker, plain} { // their clients know the servers from then on
		testsync.Eventually(t, "all jobs are listed", func() bool {
			all, err := s.ClusterJobs(t.Context())
			return err == nil && len(all) == len(r.names)
		})
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
	others := len(r.names) - len(there)
	var asking sync.WaitGroup
	expect := func(what string, want int, list func(ctx context.Context) (int, error)) {
		asking.Go(func() {
			n, err := 0, error(nil)
			for try := 0; try < 5 && n != want; try++ { // on a busy machine the others may answer too late
				ctx, cancel := ask()
				n, err = list(ctx)
				cancel()
			}
			if check(what, err); n != want {
				t.Errorf("%s tells of %d, want %d", what, n, want)
			}
		})
	}
	expect("ClusterJobs of a node", len(r.names), func(ctx context.Context) (int, error) {
		all, err := s.ClusterJobs(ctx) // it has them all
		return len(all), err
	})
	for who, onlooker := range map[string]*Scheduler{"onlooker": onlooker, "plain client": plain} {
		for what, list := range r.lists(onlooker, there) {
			expect(what+" of "+who, others, list)
		}
	}
	for _, onlooker := range []*Scheduler{onlooker, plain} {
		asking.Go(func() {
			ctx, cancel := ask()
			defer cancel()
			all, err := onlooker.ClusterStatus(ctx, there[0])
			var parts *PartsError
			if err == nil || errors.As(err, &parts) || len(all) != 0 {
				t.Errorf("ClusterStatus of a job in the part that is away: %+v, %v; want no job, and an error about that part", all, err)
			}
		})
	}
	for what, asked := range map[string]*Scheduler{"node": s, "onlooker": onlooker} {
		asking.Go(func() {
			ctx, cancel := ask()
			defer cancel()
			id, err := asked.RunNow(ctx, elsewhere[0], "ada")
			if err != nil {
				t.Errorf("RunNow by a %s: %v", what, err)
				return
			}
			testsync.Eventually(t, "the run that was asked for ends", func() bool {
				run, err := asked.FindRun(t.Context(), id)
				return err == nil && run.Outcome != ""
			})
		})
	}
	asking.Wait()
	if err := r.servers.Nodes[lost].Resume(); err != nil {
		t.Fatal(err)
	}
}

// onlooker is a scheduler without jobs that does not run. Its client heeds deadlines, or does not.
func (r *clusterRig) onlooker(t *testing.T, heeds bool) *Scheduler {
	t.Helper()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: r.servers.Addrs(), ContextTimeoutEnabled: heeds})
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
	return onlooker
}

// lists are questions that tell of the jobs outside of the part that is away, which there are in.
func (r *clusterRig) lists(s *Scheduler, there []string) map[string]func(ctx context.Context) (int, error) {
	others := len(r.names) - len(there)
	return map[string]func(ctx context.Context) (int, error){
		"ClusterJobs": func(ctx context.Context) (int, error) {
			all, err := s.ClusterJobs(ctx)
			for _, info := range all {
				if slices.Contains(there, info.Job.Name) || info.Orphaned || info.Job.Spec != "@every 1s" {
					return 0, fmt.Errorf("listed is %+v", info)
				}
			}
			return len(all), err
		},
		"ClusterStatus": func(ctx context.Context) (int, error) {
			all, err := s.ClusterStatus(ctx)
			return len(all), err
		},
		"JobPage": func(ctx context.Context) (int, error) {
			page, err := s.JobPage(ctx, JobQuery{Limit: 100})
			return len(page.Jobs), err
		},
		"CountJobs": func(ctx context.Context) (int, error) {
			n, err := s.CountJobs(ctx)
			return n.Jobs, err
		},
		"LatestJobs": func(ctx context.Context) (int, error) {
			latest, err := s.LatestJobs(ctx, 100)
			return len(latest), err
		},
		"RecentRuns": func(ctx context.Context) (int, error) {
			runs, err := s.RecentRuns(ctx, 1, r.names...)
			return len(slices.DeleteFunc(runs, func(of []Run) bool { return len(of) == 0 })), err
		},
		"MostMissed": func(ctx context.Context) (int, error) {
			_, err := s.MostMissed(ctx, 10)
			return others, err
		},
		"Nodes": func(ctx context.Context) (int, error) {
			_, err := s.Nodes(ctx)
			return others, err
		},
		"RunningRuns": func(ctx context.Context) (int, error) {
			_, err := s.RunningRuns(ctx)
			return others, err
		},
		"Failures": func(ctx context.Context) (int, error) {
			_, err := s.Failures(ctx, 10)
			return others, err
		},
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
