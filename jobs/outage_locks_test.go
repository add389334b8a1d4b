package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	jobmem "github.com/lockgen/lockgen/jobs/memstore"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// Runs that cannot begin for want of their locks are a failure, though the store of jobs does all that it is asked for.
func TestScheduler_Err_storeOfLocksAway(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(n *jobstest.Node, on bool){
		"refuses":   (*jobstest.Node).CutLocks,
		"is silent": (*jobstest.Node).SilenceLocks,
	} {
		t.Run(name, func(t *testing.T) {
			jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
				var log testsync.Log
				n := c.Node(Config{Logger: log.Logger()}, 0)
				for i, spec := range []string{"* * * * * *", "*/20 * * * * *"} {
					n.MustAdd(Job{Name: "often" + string(rune('0'+i)), Spec: spec, Run: jobstest.Sleep(0)})
				}
				n.Start()
				time.Sleep(10 * time.Second)
				trouble(n, true)
				time.Sleep(25 * time.Second)
				for range 100 {
					if err := n.Err(); err == nil || !strings.Contains(err.Error(), "store of locks unavailable since 2000-01-01T00:00:1") {
						t.Errorf("Err = %v, want it to tell of the store of locks for as long as it lasts", err)
						break
					}
					time.Sleep(470 * time.Millisecond)
				}
				trouble(n, false)
				time.Sleep(20 * time.Second)
				if err := n.Err(); err != nil {
					t.Errorf("Err = %v when it is there again", err)
				}
				c.Stop()
				for _, want := range []string{"store of locks unavailable;", "store of locks available again"} {
					if got := strings.Count(log.String(), want); got != 1 {
						t.Errorf("the log says %d times %q, want once:\n%s", got, want, log.String())
					}
				}
			})
		})
	}
}

// Nobody may ask for locks for hours. What was said then counts for 90 s.
func TestScheduler_Err_locksNotAskedForAgain(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "hourly", Spec: "@every 1h", Misfire: MisfireSkip, Grace: 10 * time.Second, Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(30 * time.Minute)
		n.CutLocks(true)
		var from, to time.Duration
		for began := time.Now(); time.Since(began) < time.Hour; time.Sleep(time.Second) {
			if err := n.Err(); errors.Is(err, jobstest.ErrCut) {
				if to = time.Since(began); from == 0 {
					from = to
				}
			}
		}
		if lasted := to - from; from == 0 || lasted < 85*time.Second || lasted > 105*time.Second {
			t.Errorf("Err told of the locks for %s, want 90 s and as long as they were asked for", lasted)
		}
		n.CutLocks(false)
		c.Stop()
	})
}

// That a lock is held is an answer.
func TestScheduler_Err_locksHeld(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		nodes := []*jobstest.Node{c.Node(Config{}, 0), c.Node(Config{}, 0)}
		for _, n := range nodes {
			n.MustAdd(Job{Name: "long", Spec: "* * * * * *", Run: jobstest.Sleep(90 * time.Second)})
			n.Start()
		}
		for range 600 {
			time.Sleep(time.Second)
			for _, n := range nodes {
				if err := n.Err(); err != nil {
					t.Errorf("Err = %v", err)
				}
			}
		}
		c.Stop()
	})
}

// While the store of locks is away the log says so, and not for each run that waits. A job that alone cannot get its lock is
// told of, once.
func TestScheduler_Err_locksAwayForMany(t *testing.T) {
	t.Parallel()
	testsync.Bubble(t, func(t *testing.T) {
		var alone, all atomic.Bool
		store := &lockBlame{memstore.New(), func(key string) error {
			if all.Load() || alone.Load() && strings.Contains(key, "bad") {
				return errFussy
			}
			return nil
		}}
		locks, err := lockrt.New(store, lockrt.Config{Node: "n", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer locks.Close(context.Background())
		var log testsync.Log
		n, err := New(locks, Config{Store: jobmem.New(), Logger: log.Logger()})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			err = errors.Join(err, n.Add(Job{Name: fmt.Sprint("j", i), Spec: eachSecond, Run: jobstest.Sleep(0)}))
		}
		err = errors.Join(err, n.Add(Job{Name: "bad", Spec: each5, Run: jobstest.Sleep(0)}),
			n.AddHandler(Handler{Name: "mail", Run: func(context.Context, string, []byte) error { return nil }}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = n.Run(ctx) })
		time.Sleep(5 * time.Second)
		for i := range 200 {
			if err := n.At(t.Context(), "mail", fmt.Sprint("o", i), time.Now().Add(20*time.Second), nil); err != nil {
				t.Fatal(err)
			}
		}
		lines := func() (lines []string) {
			for line := range strings.Lines(log.String()) {
				if strings.Contains(line, "lock") && !strings.Contains(line, "level=DEBUG") {
					lines = append(lines, line)
				}
			}
			return lines
		}
		all.Store(true)
		time.Sleep(41 * time.Second)
		all.Store(false)
		time.Sleep(time.Minute)
		if said := lines(); len(said) != 2 {
			t.Errorf("the log has %d lines of an outage, want one of its beginning and one of its end: %.2000s", len(said), said)
		}
		alone.Store(true)
		time.Sleep(time.Minute)
		if said := lines(); len(said) != 3 || !strings.Contains(said[2], "job=bad") {
			t.Errorf("the log has %d more lines, want one of the job that alone gets no lock: %.2000s", len(said)-2, said)
		}
		cancel()
		running.Wait()
	})
}

// Locks that nobody asks for for an hour are not away until then.
func TestScheduler_Err_locksAwayFromARareJob(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var log testsync.Log
		n := c.Node(Config{Logger: log.Logger()}, 0)
		n.MustAdd(Job{Name: "hourly", Spec: "0 0 * * * *", Misfire: MisfireSkip, Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(time.Hour - time.Second)
		n.CutLocks(true)
		time.Sleep(2 * time.Minute)
		n.CutLocks(false)
		time.Sleep(time.Hour)
		c.Stop()
		_, after, _ := strings.Cut(log.String(), "store of locks available again\" after=")
		after, _, _ = strings.Cut(after, "\n")
		if d, err := time.ParseDuration(after); err != nil || d > 2*time.Minute {
			t.Errorf("the locks are said to be available again after %q, want 2 m at most:\n%s", after, log.String())
		}
	})
}
