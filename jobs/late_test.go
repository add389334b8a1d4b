package jobs_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	jobmem "github.com/lockgen/lockgen/jobs/memstore"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// slowCalls is a store with calls that seem to fail and reach it later.
type slowCalls struct {
	Store
	slowStart  func(Start) bool
	slowFinish func(Finish) bool

	mu   sync.Mutex // guards what follows
	late []func()   // deliver what has not reached the store yet
}

var errSlow = errors.New("no answer")

func slow[T any](s *slowCalls, elements []T, isSlow func(T) bool, send func(context.Context, []T) []error) (slow bool) {
	if isSlow == nil || !slices.ContainsFunc(elements, isSlow) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = append(s.late, func() { send(context.Background(), elements) })
	return true
}

func (s *slowCalls) Start(ctx context.Context, starts []Start) []error {
	if slow(s, starts, s.slowStart, s.Store.Start) {
		return slices.Repeat([]error{errSlow}, len(starts))
	}
	return s.Store.Start(ctx, starts)
}

func (s *slowCalls) Finish(ctx context.Context, finishes []Finish) []error {
	if slow(s, finishes, s.slowFinish, s.Store.Finish) {
		return slices.Repeat([]error{errSlow}, len(finishes))
	}
	return s.Store.Finish(ctx, finishes)
}

// deliver has the slow calls reach the store.
func (s *slowCalls) deliver() {
	s.mu.Lock()
	late := s.late
	s.late = nil
	s.mu.Unlock()
	for _, send := range late {
		send()
	}
}

// begins are the nodes on which runs have begun.
type begins struct {
	mu    sync.Mutex
	nodes []string
}

// hourly adds a job that runs for two minutes.
func (b *begins) hourly(n *jobstest.Node) {
	n.MustAdd(Job{Name: "j", Spec: "@hourly", Lock: lockrt.Options{TTL: 5 * time.Second}, Run: func(ctx context.Context) error {
		b.mu.Lock()
		b.nodes = append(b.nodes, n.Name())
		b.mu.Unlock()
		return jobstest.Sleep(2 * time.Minute)(ctx)
	}})
}

func (b *begins) want(t *testing.T, nodes ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.nodes, nodes) {
		t.Errorf("runs began on nodes %q, want %q", b.nodes, nodes)
	}
}

// TestScheduler_lateCopies has a node lose its lock while the store does not answer starts: it gives the run up. A copy
// of a call from then reaches the store later, and the node dies.
func TestScheduler_lateCopies(t *testing.T) {
	t.Parallel()
	goesBack := func(f Finish) bool { return f.Next != nil && f.Next.Run.ID == f.Run.ID && f.Next.Owner == f.Owner }
	for name, test := range map[string]struct {
		start, finish bool // which calls are late
		reaches       bool // the start has reached the store, only its answer was lost
		setBack       bool // the store's clock, after the run was given up
		begins        bool // the node begins the run before
		want          []string
	}{
		"a hand-back, after the run has begun":              {finish: true, begins: true, want: []string{"n0"}},
		"a hand-back after a begin without an answer":       {finish: true, reaches: true, begins: true, want: []string{"n0"}},
		"a hand-back and the start before it":               {start: true, finish: true, begins: true, want: []string{"n0"}},
		"a hand-back from before the clock was set back":    {finish: true, reaches: true, setBack: true, begins: true, want: []string{"n0"}},
		"a start from before the clock was set back":        {start: true, finish: true, setBack: true, begins: true, want: []string{"n0"}},
		"a start, after the run was given up":               {start: true, want: []string{"n1"}},
		"nothing, after a start that has reached the store": {reaches: true, want: []string{"n1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
				var b begins
				var noStart atomic.Bool
				var handedBack atomic.Int32
				var back atomic.Int64
				c.Store = jobmem.NewAt(func() time.Time { return time.Now().Add(-time.Duration(back.Load())) })
				store := &slowCalls{Store: c.Store}
				store.slowStart = func(st Start) bool {
					if noStart.Load() && test.reaches {
						store.Store.Start(context.Background(), []Start{st})
					}
					return noStart.Load()
				}
				store.slowFinish = func(f Finish) bool { return goesBack(f) && handedBack.Add(1) == 1 && test.finish }
				n := c.Node(Config{Store: store}, 0)
				b.hourly(n)
				n.Start()
				noStart.Store(true)
				time.Sleep(time.Until(jobstest.Start.Add(time.Hour + time.Second)))
				n.CutLocks(true)
				for handedBack.Load() < 2 && (test.finish || handedBack.Load() < 1) {
					time.Sleep(time.Second)
				}
				noStart.Store(false)
				if test.setBack {
					back.Store(int64(time.Minute))
					time.Sleep(20 * time.Second) // the node hears of it
				}
				if !test.start {
					store.mu.Lock()
					store.late = store.late[len(store.late)-1:] // the hand-back
					if !test.finish {
						store.late = nil
					}
					store.mu.Unlock()
				}
				if test.begins {
					n.CutLocks(false)
					time.Sleep(30 * time.Second)
					b.want(t, "n0")
				}
				store.deliver()
				n.Crash()
				b.hourly(c.Node(Config{}, 0))
				c.Nodes()[1].Start()
				time.Sleep(10 * time.Minute)
				c.Stop()
				b.want(t, test.want...)
			})
		})
	}
}

// TestScheduler_lateTakeover has a node seem dead before it begins a run. Another one takes the run over, by a call that
// reaches the store when the run has begun after all and its node is dead.
func TestScheduler_lateTakeover(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var b begins
		var takeovers atomic.Int32
		first := c.Node(Config{}, 0)
		b.hourly(first)
		first.Start()
		store := &slowCalls{Store: c.Store}
		store.slowFinish = func(f Finish) bool {
			if !f.Orphan || takeovers.Add(1) > 1 {
				store.deliver()
				return false
			}
			first.CutLocks(false)
			first.CutJobs(false)
			return true
		}
		second := c.Node(Config{Store: store}, 0)
		time.Sleep(time.Until(jobstest.Start.Add(time.Hour - time.Second)))
		first.CutLocks(true)
		time.Sleep(2 * time.Second)
		first.CutJobs(true)
		b.hourly(second)
		second.Start()
		for takeovers.Load() == 0 {
			time.Sleep(time.Second)
		}
		time.Sleep(30 * time.Second)
		b.want(t, "n0")
		first.Crash()
		time.Sleep(10 * time.Minute)
		c.Stop()
		b.want(t, "n0")
		if takeovers.Load() < 2 {
			t.Error("the run was not taken over a second time")
		}
	})
}

// claimsAgain is a store that each claim on demand reaches a second time, later.
type claimsAgain struct {
	Store
	again []func()
}

func (s *claimsAgain) Claim(ctx context.Context, claims []Claim) []Claimed {
	if claims[0].Manual {
		s.again = append(s.again, func() { s.Store.Claim(context.Background(), claims) })
	}
	return s.Store.Claim(ctx, claims)
}

// TestScheduler_RunNow_deliveredAgain asks for a run that any node may take, and the request reaches the store again: as
// the run is at work, and after its end.
func TestScheduler_RunNow_deliveredAgain(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var b begins
		for range 2 {
			n := c.Node(Config{}, 0)
			b.hourly(n)
			n.Start()
		}
		time.Sleep(time.Minute)
		store := &claimsAgain{Store: c.Store}
		if _, err := c.Node(Config{Store: store}, 0).RunNow(context.Background(), "j", "ada"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			time.Sleep(time.Minute)
			store.again[0]()
			time.Sleep(5 * time.Minute)
		}
		c.Stop()
		if len(b.nodes) != 1 {
			t.Errorf("what was asked for once began on nodes %q", b.nodes)
		}
	})
}

// pausesAgain is a store that each pause reaches a second time, later.
type pausesAgain struct {
	Store
	again []func()
}

func (s *pausesAgain) Pause(ctx context.Context, job string, p Pause) (PauseState, error) {
	s.again = append(s.again, func() { _, _ = s.Store.Pause(context.Background(), job, p) })
	return s.Store.Pause(ctx, job, p)
}

// TestScheduler_Pause_deliveredAgain has a pause reach the store again when it was resumed. A new pause is none of that,
// also in the moment of the resume.
func TestScheduler_Pause_deliveredAgain(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx := context.Background()
		store := &pausesAgain{Store: c.Store}
		n := c.Node(Config{Store: store}, 0)
		n.MustAdd(Job{Name: "j", Spec: "@hourly", Run: jobstest.Sleep(0)})
		n.Start()
		defer c.Stop()
		time.Sleep(time.Minute)
		isPaused := func() bool {
			view, err := c.Store.Look(ctx, []string{"j"})
			if err != nil {
				t.Fatal(err)
			}
			return view.Jobs[0].Paused != nil
		}
		for range 3 {
			if err := n.Pause(ctx, "j", "ada", ""); err != nil || !isPaused() {
				t.Fatalf("the job is not paused: %v", err)
			}
			if err := n.Resume(ctx, "j", "ada"); err != nil {
				t.Fatal(err)
			}
			for _, again := range store.again {
				again()
			}
			if isPaused() {
				t.Fatal("a pause from before the resume applies")
			}
		}
	})
}
