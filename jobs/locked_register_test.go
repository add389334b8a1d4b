package jobs_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// lockedOffer is a store in which a transaction keeps one job locked that a node offers.
type lockedOffer struct {
	Store
	locked string
	ended  atomic.Bool // the transaction
	asked  atomic.Int64
}

func (s *lockedOffer) Register(ctx context.Context, r Registration) (View, error) {
	own := r
	own.Offers = nil
	for _, o := range r.Offers {
		if o.Definition.Job != s.locked || s.ended.Load() {
			own.Offers = append(own.Offers, o)
		}
	}
	if len(own.Offers) == len(r.Offers) {
		return s.Store.Register(ctx, r)
	}
	s.asked.Add(1)
	view, err := s.Store.Register(ctx, own)
	if err != nil {
		return view, err
	}
	all := View{Now: view.Now}
	for _, o := range r.Offers {
		if o.Definition.Job == s.locked {
			all.Jobs = append(all.Jobs, JobView{Err: ErrLocked})
			continue
		}
		all.Jobs, view.Jobs = append(all.Jobs, view.Jobs[0]), view.Jobs[1:]
	}
	return all, nil
}

// A job is locked when its node starts: the others run meanwhile, and that one as soon as it is registered.
func TestScheduler_lockedOffer(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		store := &lockedOffer{Store: c.Store, locked: "stuck"}
		n := c.Node(Config{Store: store, History: 1000}, 0)
		for _, name := range []string{"stuck", "other"} {
			n.MustAdd(Job{Name: name, Spec: "@every 1s", Run: func(context.Context) error { return nil }})
		}
		n.Start()
		const locked = 60
		for range locked {
			time.Sleep(time.Second)
			if err := n.Err(); err != nil {
				t.Fatalf("while a job is locked: %v", err)
			}
		}
		if n := len(c.Finished("other")); n < locked-2 || len(c.Finished("stuck")) > 0 {
			t.Errorf("%d ticks of the other job ran, want %d; and %d of the one that is locked", n, locked, len(c.Finished("stuck")))
		}
		if n := store.asked.Load(); n > 2*locked {
			t.Errorf("the job was offered %d times in %d s", n, locked)
		}
		store.ended.Store(true)
		time.Sleep(10 * time.Second)
		c.Stop()
		if n := len(c.Finished("stuck")); n < 8 {
			t.Errorf("%d ticks ran of the job that was locked, want 9", n)
		}
	})
}

// A node whose only job is locked says so after a while.
func TestScheduler_Err_allOffersLocked(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		store := &lockedOffer{Store: c.Store, locked: "stuck"}
		n := c.Node(Config{Store: store}, 0)
		n.MustAdd(Job{Name: "stuck", Spec: "@every 1s", Run: func(context.Context) error { return nil }})
		n.Start()
		time.Sleep(5 * time.Second)
		if err := n.Err(); err != nil {
			t.Errorf("at once: %v", err)
		}
		time.Sleep(10 * time.Second)
		if err := n.Err(); err == nil {
			t.Error("there is no error although nothing can be registered")
		}
		store.ended.Store(true)
		time.Sleep(5 * time.Second)
		if err := n.Err(); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		c.Stop()
	})
}
