package jobs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	jobmem "github.com/lockgen/lockgen/jobs/memstore"
)

// twoParts is a store of two parts, of which the second, with the jobs that begin with "bad", can be taken away: calls
// about it then hang. It refuses calls about both.
type twoParts struct {
	Store
	bad  Store
	away atomic.Bool
	mute atomic.Bool // begins and ends of runs in it hang
}

var errMixed = errors.New("a call about two parts of the store")

func (s *twoParts) Parts() int { return 2 }

func (s *twoParts) PartOf(job string) int {
	if strings.HasPrefix(job, "bad") {
		return 1
	}
	return 0
}

// part returns the part with the jobs, when it answers.
func (s *twoParts) part(ctx context.Context, jobs ...string) (Store, error) {
	at := s.PartOf(jobs[0])
	if slices.ContainsFunc(jobs, func(job string) bool { return s.PartOf(job) != at }) {
		return nil, errMixed
	}
	return s.at(ctx, at)
}

func (s *twoParts) at(ctx context.Context, part int) (Store, error) {
	switch {
	case part == 0:
		return s.Store, nil
	case s.away.Load():
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.bad, nil
}

func (s *twoParts) Register(ctx context.Context, r Registration) (View, error) {
	var names []string
	for _, o := range r.Offers {
		names = append(names, o.Definition.Job)
	}
	store, err := s.part(ctx, names...)
	if err != nil {
		return View{}, err
	}
	return store.Register(ctx, r)
}

func (s *twoParts) Look(ctx context.Context, names []string) (View, error) {
	store, err := s.part(ctx, names...)
	if err != nil {
		return View{}, err
	}
	return store.Look(ctx, names)
}

func (s *twoParts) Epochs(ctx context.Context, names []string) ([]string, error) {
	store, err := s.part(ctx, names...)
	if err != nil {
		return nil, err
	}
	return store.Epochs(ctx, names)
}

func (s *twoParts) Claim(ctx context.Context, claims []Claim) []Claimed {
	var names []string
	for _, c := range claims {
		names = append(names, c.Job)
	}
	store, err := s.part(ctx, names...)
	if err != nil {
		return slices.Repeat([]Claimed{{Err: err}}, len(claims))
	}
	return store.Claim(ctx, claims)
}

func (s *twoParts) Start(ctx context.Context, starts []Start) []error {
	var names []string
	for _, c := range starts {
		names = append(names, c.Run.Job)
	}
	store, err := s.part(ctx, names...)
	if err == nil && store == s.bad && s.mute.Load() {
		<-ctx.Done()
		err = ctx.Err()
	}
	if err != nil {
		return slices.Repeat([]error{err}, len(starts))
	}
	return store.Start(ctx, starts)
}

func (s *twoParts) Finish(ctx context.Context, finishes []Finish) []error {
	var names []string
	for _, c := range finishes {
		names = append(names, c.Run.Job)
	}
	store, err := s.part(ctx, names...)
	if err == nil && store == s.bad && s.mute.Load() {
		<-ctx.Done()
		err = ctx.Err()
	}
	if err != nil {
		return slices.Repeat([]error{err}, len(finishes))
	}
	return store.Finish(ctx, finishes)
}

func (s *twoParts) Heartbeat(ctx context.Context, b Heartbeat) (HeartbeatReply, error) {
	store, err := s.at(ctx, b.Part)
	if err != nil {
		return HeartbeatReply{}, err
	}
	return store.Heartbeat(ctx, b)
}

func (s *twoParts) Leave(ctx context.Context, session string) error {
	return errors.Join(s.Store.Leave(ctx, session), s.bad.Leave(ctx, session))
}

func (s *twoParts) Restore(ctx context.Context, m Memory) error {
	store, err := s.at(ctx, s.PartOf(m.Pauses[0].Job))
	if err != nil {
		return err
	}
	return store.Restore(ctx, m)
}

// TestScheduler_partOfTheStoreAway takes a part of the store away: the jobs of the other go on to the second, those of
// nodes that start meanwhile too, and what the part missed is made up for when it is back.
func TestScheduler_partOfTheStoreAway(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		store := &twoParts{Store: c.Store, bad: jobmem.New()}
		var log testsync.Log
		start := func() {
			n := c.Node(Config{Store: store, Logger: log.Logger()}, 0)
			for _, name := range []string{"bad1", "bad2", "good1", "good2"} {
				n.MustAdd(Job{Name: name, Spec: "* * * * * *", Misfire: MisfireAll, MisfireCap: 100,
					Run: jobstest.Sleep(10 * time.Millisecond)})
			}
			n.Start()
		}
		start()
		start()
		time.Sleep(10 * time.Second)
		from := time.Now()
		store.away.Store(true)
		time.Sleep(30 * time.Second)
		if err := c.Nodes()[0].Err(); err == nil ||
			!strings.Contains(err.Error(), "1 of 2 parts of the job store unavailable") {
			t.Errorf("Err = %v, want it to tell of the part", err)
		}
		start()
		time.Sleep(30 * time.Second)
		store.away.Store(false)
		time.Sleep(30 * time.Second)
		to := time.Now()
		if err := c.Nodes()[0].Err(); err != nil {
			t.Errorf("Err = %v when the part is back", err)
		}
		time.Sleep(5 * time.Second)
		c.Stop()
		for _, name := range []string{"good1", "good2", "bad1", "bad2"} {
			ticks := make(map[time.Time]int)
			for _, r := range c.Finished(name) {
				ticks[r.Tick]++
				if late := r.Started.Sub(r.Tick); late > 100*time.Millisecond && strings.HasPrefix(name, "good") {
					t.Errorf("%s: tick %s began %s late", name, r.Tick, late)
				}
			}
			for _, tick := range c.Ticks("* * * * * *", from, to) {
				if ticks[tick] != 1 {
					t.Errorf("%s: tick %s has run %d times", name, tick, ticks[tick])
				}
			}
		}
		for _, want := range []string{"part of the job store unavailable", "job store available again"} {
			if n := strings.Count(log.String(), want); n < 2 { // by each node that was there
				t.Errorf("the log says %d times %q", n, want)
			}
		}
	})
}

// TestScheduler_beginsOfAPartHang has a part of the store take claims, and be silent about begins and ends: runs of the
// other begin and end at once all the same.
func TestScheduler_beginsOfAPartHang(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		store := &twoParts{Store: c.Store, bad: jobmem.New()}
		n := c.Node(Config{Store: store}, 0)
		for _, name := range []string{"bad1", "bad2", "good1", "good2"} {
			n.MustAdd(Job{Name: name, Spec: "* * * * * *", Run: jobstest.Sleep(10 * time.Millisecond)})
		}
		n.Start()
		time.Sleep(5 * time.Second)
		from := time.Now()
		store.mute.Store(true)
		time.Sleep(30 * time.Second)
		to := time.Now()
		store.mute.Store(false)
		time.Sleep(30 * time.Second)
		c.Stop()
		for _, name := range []string{"good1", "good2"} {
			expectPunctual(t, c, name, from, to)
		}
	})
}
