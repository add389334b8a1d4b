package jobs_test

import (
	"context"
	"fmt"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

const clusterMasters = 3

// clusterRig is two schedulers on a Redis Cluster, whose jobs are due every second.
type clusterRig struct {
	t       *testing.T
	servers *testenv.RedisCluster
	names   []string
	overlap Overlap // of all jobs
	log     testsync.Log

	mu   sync.Mutex
	runs map[string]map[time.Time]int // by job and tick: how often it ran
	last map[string]time.Time         // tick
}

func newClusterRig(t *testing.T, cfg testenv.ClusterConfig) *clusterRig {
	r := &clusterRig{
		t: t, servers: testenv.Cluster(t, clusterMasters, cfg),
		runs: make(map[string]map[time.Time]int), last: make(map[string]time.Time),
	}
	for i := range 30 {
		r.names = append(r.names, fmt.Sprint("j", i))
	}
	for _, server := range append(r.servers.Nodes, r.servers.Replicas...) {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		if err := client.ConfigSet(t.Context(), "cluster-require-full-coverage", "no").Err(); err != nil {
			t.Fatal(err)
		}
		client.Close()
	}
	return r
}

// start runs another scheduler until the test ends.
func (r *clusterRig) start() *Scheduler {
	r.t.Helper()
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: r.servers.Addrs(), ContextTimeoutEnabled: true, ClusterStateReloadInterval: 2 * time.Second,
	})
	r.t.Cleanup(func() { _ = client.Close() })
	locks, err := lockrt.New(redisstore.New(client, redisstore.Config{}), lockrt.Config{Logger: r.log.Logger()})
	if err != nil {
		r.t.Fatal(err)
	}
	s, err := New(locks, Config{Logger: r.log.Logger()})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, name := range r.names {
		j := Job{Name: name, Spec: "@every 1s", Misfire: MisfireAll, MisfireCap: 1000,
			Overlap: r.overlap, Lock: lockrt.Options{TTL: 5 * time.Second}}
		j.Run = func(ctx context.Context) error {
			_, tick, _ := TickFromContext(ctx)
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.runs[name] == nil {
				r.runs[name] = make(map[time.Time]int)
			}
			r.runs[name][tick.UTC()]++
			if tick.After(r.last[name]) {
				r.last[name] = tick.UTC()
			}
			return nil
		}
		if err := s.Add(j); err != nil {
			r.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.Run(ctx); err != nil {
			r.t.Error(err)
		}
	}()
	r.t.Cleanup(func() {
		cancel()
		<-ended
		_ = locks.Close(context.Background()) // a part of the locks may be away
	})
	return s
}

// on returns the jobs of which neither state nor lock is on a master, and the others.
func (r *clusterRig) on(s *Scheduler, master int) (elsewhere, there []string) {
	for _, name := range r.names {
		if r.masterOf(s, stateKey(s, name)) == master || r.masterOf(s, "lock:{job:"+name+"}") == master {
			there = append(there, name)
		} else {
			elsewhere = append(elsewhere, name)
		}
	}
	return elsewhere, there
}

// stateKey is a key of the state of a job: in a cluster each shard is a part.
func stateKey(s *Scheduler, job string) string {
	return fmt.Sprintf("lock:jobs:{lock:%d}:cursors", StoreOf(s).PartOf(job))
}

// masterOf returns the master that a key is on.
func (r *clusterRig) masterOf(s *Scheduler, key string) int {
	slot := s.Locker().Store().(*redisstore.Store).Client().ClusterKeySlot(r.t.Context(), key).Val()
	return min(int(slot)/(16384/clusterMasters), clusterMasters-1)
}

// reach waits until all the jobs have run a tick that late.
func (r *clusterRig) reach(what string, names []string, tick time.Time) {
	r.t.Helper()
	testsync.Eventually(r.t, what, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, name := range names {
			if r.last[name].Before(tick) {
				return false
			}
		}
		return true
	})
}

// judge checks that each tick of the jobs from one time to another runs once, or is recorded as skipped because the run
// before it still had the lock. One may still wait on one node when a later one has run on another.
func (r *clusterRig) judge(names []string, from, to time.Time) {
	r.t.Helper()
	defer func() {
		if r.t.Failed() {
			r.t.Logf("ticks that have not run: %v; the schedulers said:\n%s", r.missing(names, from, to), r.log.String())
		}
	}()
	testsync.Eventually(r.t, "each tick runs", func() bool { return len(r.missing(names, from, to)) == 0 })
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		for tick, n := range r.runs[name] {
			if n > 1 {
				r.t.Errorf("%s: tick %s has run %d times", name, tick.Format(time.TimeOnly), n)
			}
		}
	}
}

// missing are the ticks from one time to another that have neither run nor been skipped.
func (r *clusterRig) missing(names []string, from, to time.Time) (ticks []string) {
	skipped := make(map[string]bool)
	for _, found := range heldSkip.FindAllStringSubmatch(r.log.String(), -1) {
		skipped[found[1]+" "+found[2]] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		for tick := from.UTC().Truncate(time.Second).Add(time.Second); !tick.After(to); tick = tick.Add(time.Second) {
			if r.runs[name][tick] == 0 && !skipped[name+" "+tick.Format("2006-01-02T15:04:05")] {
				ticks = append(ticks, name+" "+tick.Format(time.TimeOnly))
			}
		}
	}
	return ticks
}

// heldSkip finds the ticks that the schedulers say were skipped because the lock was held.
var heldSkip = regexp.MustCompile(`job=(\S+) tick=(\S+)\.000Z outcome=skipped .*is held by`)

// betweenTicks waits for the middle of a second whose ticks have all run: no claim is on its way to a replica.
func (r *clusterRig) betweenTicks() {
	r.t.Helper()
	testsync.Eventually(r.t, "all jobs have run this second's tick by the middle of it", func() bool {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1500 * time.Millisecond)))
		tick := time.Now().UTC().Truncate(time.Second)
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, name := range r.names {
			if r.last[name].Before(tick) {
				return false
			}
		}
		return time.Since(tick) < 700*time.Millisecond
	})
}

// TestScheduler_clusterMasterAway takes away a master that has no replica: the jobs that do not need it run at each
// tick, those of a node that starts meanwhile too.
func TestScheduler_clusterMasterAway(t *testing.T) {
	for name, takeAway := range map[string]func(*testenv.RedisServer) error{
		"killed": (*testenv.RedisServer).Kill, "frozen": (*testenv.RedisServer).Pause,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newClusterRig(t, testenv.ClusterConfig{NodeTimeout: 2 * time.Second})
			s := r.start()
			r.start()
			r.reach("all jobs run", r.names, time.Now().Add(-time.Second))
			const lost = 1
			elsewhere, there := r.on(s, lost)
			t.Logf("%d jobs need the master, %d do not", len(there), len(elsewhere))
			r.betweenTicks()
			from := time.Now()
			if err := takeAway(r.servers.Nodes[lost]); err != nil {
				t.Fatal(err)
			}
			r.reach("the other jobs run", elsewhere, from.Add(8*time.Second))
			r.start()
			to := from.Add(16 * time.Second)
			r.reach("the other jobs run while a node starts", elsewhere, to)
			r.judge(elsewhere, from, to)
			if name == "killed" {
				return
			}
			if err := r.servers.Nodes[lost].Resume(); err != nil {
				t.Fatal(err)
			}
			to = time.Now()
			r.reach("all jobs run when the master is back", r.names, to)
			r.judge(elsewhere, from, to)
		})
	}
}

// TestScheduler_clusterFailover takes away a master that has a replica: all jobs run again after its promotion, and no
// tick runs twice.
func TestScheduler_clusterFailover(t *testing.T) {
	for name, takeAway := range map[string]func(*testenv.RedisServer) error{
		"killed": (*testenv.RedisServer).Kill, "frozen": (*testenv.RedisServer).Pause,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newClusterRig(t, testenv.ClusterConfig{Replicas: 1, NodeTimeout: 2 * time.Second})
			s := r.start()
			r.start()
			r.reach("all jobs run", r.names, time.Now().Add(-time.Second))
			const lost = 1
			elsewhere, _ := r.on(s, lost)
			r.betweenTicks()
			from := time.Now()
			if err := takeAway(r.servers.Nodes[lost]); err != nil {
				t.Fatal(err)
			}
			testsync.Eventually(t, "the replica is promoted",
				func() bool { return r.servers.IsMaster(r.servers.Replicas[lost]) })
			promoted := time.Now()
			r.reach("all jobs run after the promotion", r.names, promoted)
			t.Logf("promoted after %s, all jobs run after %s", promoted.Sub(from), time.Since(from))
			r.judge(elsewhere, from, promoted)
			r.judge(r.names, promoted, promoted)
		})
	}
}
