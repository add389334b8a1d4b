package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// failover is a store that goes away from all nodes, with that of the locks, in the moment in which one of them has won
// a tick.
type failover struct {
	Store
	node   *jobstest.Node
	due    *atomic.Bool
	begin  func()
	onWin  bool // else it does so before the begin is noted
	answer bool // whether the node hears that it has won
	locks  bool // only the locks go away
}

func (s *failover) Claim(ctx context.Context, claims []Claim) []Claimed {
	results := s.Store.Claim(ctx, claims)
	if s.onWin && claims[0].InFlight != nil && results[0].Status == ClaimWon && s.due.CompareAndSwap(true, false) {
		if !s.answer {
			s.node.DropReplies(1)
		}
		s.begin()
	}
	return results
}

func (s *failover) Start(ctx context.Context, starts []Start) []error {
	if !s.onWin && s.due.CompareAndSwap(true, false) {
		s.begin()
		return []error{jobstest.ErrCut}
	}
	return s.Store.Start(ctx, starts)
}

// TestScheduler_heldUp has the stores go away while a tick is claimed, or about to begin: it is run, and so are those
// after it, though they are claimed before it gets the lock.
func TestScheduler_heldUp(t *testing.T) {
	t.Parallel()
	moments := []failover{{onWin: true}, {onWin: true, answer: true}, {onWin: true, answer: true, locks: true}, {}}
	for i, moment := range moments {
		for _, misfire := range []Misfire{MisfireAll, MisfireOnce} {
			t.Run(fmt.Sprint(i, misfire), func(t *testing.T) {
				jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) { expectHeldUp(t, c, moment, misfire) })
			})
		}
	}
}

func expectHeldUp(t *testing.T, c *jobstest.Cluster, moment failover, misfire Misfire) {
	var due atomic.Bool
	moment.due = &due
	for range 3 {
		store := moment
		store.Store = c.Store
		store.begin = func() {
			away := c.Outage
			if moment.locks {
				away = func(on bool) {
					for _, n := range c.Nodes() {
						n.CutLocks(on)
					}
				}
			}
			away(true)
			time.AfterFunc(3300*time.Millisecond, func() { away(false) })
		}
		n := c.Node(Config{Store: &store, History: 1000}, 0)
		store.node = n
		n.MustAdd(Job{Name: "j", Spec: "* * * * * *", Misfire: misfire, Run: jobstest.Sleep(600 * time.Millisecond)})
		n.Start()
		time.Sleep(50 * time.Millisecond)
	}
	from := time.Now()
	time.Sleep(850 * time.Millisecond) // to the full second
	for range rounds(20, 5) {
		time.Sleep(20*time.Second - time.Millisecond)
		due.Store(true)
		time.Sleep(time.Millisecond)
	}
	time.Sleep(30*time.Second + 900*time.Millisecond)
	to := time.Now()
	c.Stop()
	if !moment.locks {
		c.ExpectOnce("j", "* * * * * *", from, to)
		return
	}
	// No late run has the lock of a tick on time, whether its node has seen the locks away or not.
	for _, r := range c.Finished("j") {
		if r.Outcome != OutcomeOK {
			t.Errorf("tick %s: %s %s", r.Tick, r.Outcome, r.Reason)
		}
	}
}

// TestScheduler_heldUp_byDeath has a node die with a tick that it has claimed: whoever takes it over waits for the
// lock, which the runs of later ticks have most of the time.
func TestScheduler_heldUp_byDeath(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var due atomic.Bool
		var tick atomic.Int64 // of the node that died, in Unix seconds
		for range 5 {
			store := &failover{Store: c.Store, due: &due, onWin: true, answer: true}
			n := c.Node(Config{Store: store, History: 1000}, 0)
			store.node = n
			store.begin = func() {
				tick.Store(time.Now().Unix())
				n.Crash()
			}
			n.MustAdd(Job{Name: "j", Spec: "* * * * * *", Misfire: MisfireAll,
				Run: jobstest.Sleep(900 * time.Millisecond)})
			n.Start()
		}
		for range 3 {
			time.Sleep(20 * time.Second)
			due.Store(true)
			time.Sleep(20 * time.Second)
			died := time.Unix(tick.Load(), 0)
			runs := slices.DeleteFunc(c.Finished("j"), func(r Run) bool { return !r.Tick.Equal(died) })
			if got := jobstest.Outcomes(runs); got != "lost ok" {
				t.Errorf("tick %s, whose node died, ended %q, want it lost and run after all: %+v", died, got, runs)
			}
		}
		c.Stop()
	})
}

// TestScheduler_heldUp_silence has the store of locks not answer for a while: all ticks that wait for its answer run
// when it comes.
func TestScheduler_heldUp_silence(t *testing.T) {
	t.Parallel()
	for _, misfire := range []Misfire{MisfireAll, MisfireOnce} {
		jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
			from := time.Now()
			for range 2 {
				n := c.Node(Config{History: 1000}, 0)
				n.MustAdd(Job{Name: "j", Spec: "* * * * * *", Misfire: misfire,
					Run: jobstest.Sleep(100 * time.Millisecond)})
				n.Start()
			}
			time.Sleep(5*time.Second + 700*time.Millisecond)
			for _, silence := range []time.Duration{4 * time.Second, 12 * time.Second} {
				for _, n := range c.Nodes() {
					n.SilenceLocks(true)
				}
				time.Sleep(silence)
				for _, n := range c.Nodes() {
					n.SilenceLocks(false)
				}
				time.Sleep(20 * time.Second)
			}
			c.Stop()
			to := time.Now()
			ran := make(map[time.Time]Outcome)
			for _, r := range c.Finished("j") {
				ran[r.Tick] = r.Outcome
			}
			for _, tick := range c.Ticks("* * * * * *", from, to) {
				if ran[tick] != OutcomeOK {
					t.Errorf("tick %s ended %q, want it run", tick, ran[tick])
				}
			}
		})
	}
}

// TestScheduler_heldUp_elsewhere has the store of locks not answer one of three nodes for a while: the ticks that it
// has claimed begin late, beside those on time, which other nodes have that know nothing of it. All run, and a job that
// is slower than its schedule goes back to skipping.
func TestScheduler_heldUp_elsewhere(t *testing.T) {
	t.Parallel()
	for _, misfire := range []Misfire{MisfireAll, MisfireOnce, MisfireSkip} {
		t.Run(string(misfire), func(t *testing.T) {
			jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
				for range 3 {
					n := c.Node(Config{History: 1000}, 0)
					n.MustAdd(Job{Name: "j", Spec: "* * * * * *", Misfire: misfire,
						Run: jobstest.Sleep(200 * time.Millisecond)})
					n.MustAdd(Job{Name: "slow", Spec: "* * * * * *", Misfire: misfire,
						Run: jobstest.Sleep(1500 * time.Millisecond)})
					n.Start()
				}
				for range 10 {
					time.Sleep(20 * time.Second)
					c.Nodes()[0].SilenceLocks(true)
					time.Sleep(4*time.Second + 950*time.Millisecond)
					c.Nodes()[0].SilenceLocks(false)
					time.Sleep(50 * time.Millisecond)
				}
				time.Sleep(time.Minute)
				from := time.Now()
				time.Sleep(time.Minute)
				c.Stop()
				for _, r := range c.Finished("j") {
					if r.Outcome != OutcomeOK {
						t.Errorf("tick %s: %s %s", r.Tick, r.Outcome, r.Reason)
					}
				}
				for _, r := range c.Finished("slow") {
					if late := r.Started.Sub(r.Tick); r.Tick.After(from) && r.Outcome == OutcomeOK && late > time.Second {
						t.Errorf("slow: tick %s began %s late", r.Tick, late)
					}
				}
			})
		})
	}
}
