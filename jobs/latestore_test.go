package jobs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// twiceStore is a store that changes may reach a second time, later, whether they are answered or not.
type twiceStore struct {
	Store
	mu   sync.Mutex // guards what follows
	rand *rand.Rand
	ends time.Time // of all trouble
}

// twice makes a call, and may make it again within the next minute.
func twice[T any](ctx context.Context, s *twiceStore, call func(context.Context) T, lost func(error) T) T {
	s.mu.Lock()
	trouble, again, after := s.rand.IntN(40), s.rand.IntN(3) > 0, time.Duration(s.rand.Int64N(int64(8*time.Second)))
	if s.rand.IntN(3) == 0 {
		after *= 8
	}
	calm := time.Now().After(s.ends)
	s.mu.Unlock()
	if again && !calm {
		time.AfterFunc(after, func() { call(context.WithoutCancel(ctx)) })
	}
	switch {
	case calm, trouble > 1:
		return call(ctx)
	case trouble == 1: // the answer
		call(ctx)
	}
	return lost(errSlow)
}

func lostAll(n int) func(error) []error {
	return func(err error) []error {
		errs := make([]error, n)
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
}

func lost(err error) error { return err }

func (s *twiceStore) Claim(ctx context.Context, claims []Claim) []Claimed {
	return twice(ctx, s, func(ctx context.Context) []Claimed { return s.Store.Claim(ctx, claims) }, func(err error) []Claimed {
		all := make([]Claimed, len(claims))
		for i := range all {
			all[i].Err = err
		}
		return all
	})
}

func (s *twiceStore) Start(ctx context.Context, starts []Start) []error {
	return twice(ctx, s, func(ctx context.Context) []error { return s.Store.Start(ctx, starts) }, lostAll(len(starts)))
}

func (s *twiceStore) Finish(ctx context.Context, finishes []Finish) []error {
	return twice(ctx, s, func(ctx context.Context) []error { return s.Store.Finish(ctx, finishes) }, lostAll(len(finishes)))
}

func (s *twiceStore) Heartbeat(ctx context.Context, b Heartbeat) (reply HeartbeatReply, err error) {
	type answer struct {
		reply HeartbeatReply
		err   error
	}
	a := twice(ctx, s, func(ctx context.Context) answer {
		reply, err := s.Store.Heartbeat(ctx, b)
		return answer{reply, err}
	}, func(err error) answer { return answer{err: err} })
	return a.reply, a.err
}

func (s *twiceStore) Register(ctx context.Context, r Registration) (View, error) {
	type answer struct {
		view View
		err  error
	}
	a := twice(ctx, s, func(ctx context.Context) answer {
		view, err := s.Store.Register(ctx, r)
		return answer{view, err}
	}, func(err error) answer { return answer{err: err} })
	return a.view, a.err
}

func (s *twiceStore) Leave(ctx context.Context, session string) error {
	return twice(ctx, s, func(ctx context.Context) error { return s.Store.Leave(ctx, session) }, lost)
}

func (s *twiceStore) Cancel(ctx context.Context, n Notice) error {
	return twice(ctx, s, func(ctx context.Context) error { return s.Store.Cancel(ctx, n) }, lost)
}

func (s *twiceStore) Put(ctx context.Context, o OneOff) error {
	return twice(ctx, s, func(ctx context.Context) error { return s.Store.Put(ctx, o) }, lost)
}

// TestScheduler_deliveredTwice runs clusters whose store each change may reach a second time, up to a minute later, while
// nodes crash, shut down and lose their locks. No tick, no run on demand and no one-off job begins twice. LOCKGEN_SOAK
// makes it hundreds of clusters.
func TestScheduler_deliveredTwice(t *testing.T) {
	t.Parallel()
	seeds := rounds(8, 2)
	if os.Getenv("LOCKGEN_SOAK") != "" {
		seeds = 400
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
				d := &deliveredTwice{t: t, c: c, rand: rand.New(rand.NewPCG(uint64(seed), 1)), begun: make(map[string][]string)}
				d.run()
			})
		})
	}
}

type deliveredTwice struct {
	t    *testing.T
	c    *jobstest.Cluster
	rand *rand.Rand
	ends time.Time

	mu    sync.Mutex
	begun map[string][]string // where and when, by what
}

func (d *deliveredTwice) below(most time.Duration) time.Duration {
	return time.Duration(d.rand.Int64N(int64(most)))
}

func (d *deliveredTwice) begins(n *jobstest.Node, what string) {
	if n.Crashed() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begun[what] = append(d.begun[what], fmt.Sprint(n.Name(), " ", time.Now().Format(time.TimeOnly)))
}

func (d *deliveredTwice) node() *jobstest.Node {
	store := &twiceStore{Store: d.c.Store, rand: rand.New(rand.NewPCG(d.rand.Uint64(), 2)), ends: d.ends}
	return d.c.Node(Config{Store: store, History: 10_000}, 0)
}

func (d *deliveredTwice) start() *jobstest.Node {
	n := d.node()
	takes := d.below(4 * time.Second)
	for i, overlap := range []Overlap{OverlapSkip, OverlapQueue, OverlapAllow} {
		name := fmt.Sprint("j", i)
		n.MustAdd(Job{
			Name: name, Spec: fmt.Sprintf("*/%d * * * * *", 2+2*i), Misfire: MisfireAll, MisfireCap: 1000, Overlap: overlap,
			Lock: lockrt.Options{TTL: 5 * time.Second},
			Run: func(ctx context.Context) error {
				_, tick, _ := TickFromContext(ctx)
				d.begins(n, name+" "+tick.UTC().Format(time.RFC3339Nano))
				return jobstest.Sleep(takes)(ctx)
			},
		})
	}
	if err := n.AddHandler(Handler{Name: "mail", Run: func(ctx context.Context, id string, _ []byte) error {
		d.begins(n, "one-off job "+id)
		return jobstest.Sleep(takes)(ctx)
	}}); err != nil {
		d.t.Fatal(err)
	}
	n.Start()
	return n
}

func (d *deliveredTwice) run() {
	ctx := context.Background()
	d.ends = time.Now().Add(4 * time.Minute)
	nodes := []*jobstest.Node{d.start(), d.start(), d.start()}
	outside := d.node()
	for i := 0; time.Now().Before(d.ends); i++ {
		time.Sleep(d.below(6 * time.Second))
		k := d.rand.IntN(len(nodes))
		switch n := nodes[k]; d.rand.IntN(6) {
		case 0:
			n.Crash()
			nodes[k] = d.start()
		case 1:
			nodes[k] = d.start()
			go n.Shutdown()
		case 2:
			n.CutLocks(true)
			time.AfterFunc(5*time.Second+d.below(20*time.Second), func() { n.CutLocks(false) })
		case 3:
			id, err := outside.RunNow(ctx, "j0", "ada")
			if err == nil && d.rand.IntN(3) == 0 {
				_ = outside.Cancel(ctx, id, "ada", "") // it may have ended, or the store not answer
			}
		default:
			_ = outside.At(ctx, "mail", fmt.Sprint(i), time.Now().Add(d.below(5*time.Second)), nil) // or not
		}
	}
	time.Sleep(5 * time.Minute)
	d.c.Stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	for what, where := range d.begun {
		if len(where) > 1 {
			d.t.Errorf("%s began %d times, on %q", what, len(where), where)
		}
	}
	if len(d.begun) < 200 {
		d.t.Errorf("only %d runs began", len(d.begun))
	}
}
