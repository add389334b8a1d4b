package jobs_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// hooked is a store that has something happen before some calls.
type hooked struct {
	Store
	beforeClaim   func(claims []Claim)
	afterRegister func()
}

func (s *hooked) Claim(ctx context.Context, claims []Claim) []Claimed {
	if s.beforeClaim != nil {
		s.beforeClaim(claims)
	}
	return s.Store.Claim(ctx, claims)
}

func (s *hooked) Register(ctx context.Context, r Registration) (View, error) {
	if s.afterRegister != nil {
		return s.registerTwice(ctx, r)
	}
	return s.Store.Register(ctx, r)
}

// registerTwice is a registration of which the second step, to look at the jobs, comes after something else.
func (s *hooked) registerTwice(ctx context.Context, r Registration) (View, error) {
	_, err := s.Store.Register(ctx, r)
	if err != nil {
		return View{}, err
	}
	s.afterRegister()
	var names []string
	for _, o := range r.Offers {
		names = append(names, o.Definition.Job)
	}
	return s.Look(ctx, names)
}

// beganOnce checks what nodes have told: no tick of the job has begun twice.
func beganOnce(t *testing.T, c *jobstest.Cluster, round int) (ticks int) {
	t.Helper()
	began := make(map[time.Time]string)
	for _, r := range c.Finished("j") {
		if r.Started.IsZero() {
			continue
		}
		if before := began[r.Tick]; before != "" {
			t.Errorf("round %d: tick %s began on %s and on %s", round, r.Tick, before, r.Node)
		}
		began[r.Tick] = r.Node
	}
	return len(began)
}

// TestScheduler_flush_whileClaiming has the store lose its data, or go back to before the last ticks, while a node claims a tick that is owed, and another
// node that has not heard of the last ones be the first to register the job again: the answer to the claim does not make
// the node forget what it has done.
func TestScheduler_flush_whileClaiming(t *testing.T) {
	t.Parallel()
	for round := range 8 {
		jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
			owed, lost, rewind := 0, false, c.Flush
			begin := func(before func([]Claim)) {
				n := c.Node(Config{Store: &hooked{Store: c.Store, beforeClaim: before}}, 0)
				n.MustAdd(Job{Name: "j", Spec: "@every 1s", Misfire: MisfireAll, Run: jobstest.Sleep(100 * time.Millisecond)})
				n.Start()
			}
			if round%2 == 0 { // in a store that has gone back it might claim before it notices
				begin(nil)
			}
			begin(func(claims []Claim) {
				if claims[0].Owed && claims[0].InFlight != nil {
					owed++
				}
				if round%2 == 1 && owed == 6+round {
					rewind = c.Snapshot()
				}
				if owed <= 8+round || lost {
					return
				}
				lost = true
				rewind()
				for {
					time.Sleep(10 * time.Millisecond)
					if cursors, err := c.Store.Cursors(t.Context(), []string{"j"}); err != nil || !cursors[0].IsZero() {
						return
					}
				}
			})
			time.Sleep(10 * time.Second)
			c.Outage(true)
			time.Sleep(40 * time.Second)
			c.Outage(false)
			time.Sleep(time.Minute)
			c.Stop()
			if n := beganOnce(t, c, round); n < 100 || !lost {
				t.Errorf("round %d: %d ticks began, data lost: %t", round, n, lost)
			}
		})
	}
}

// TestScheduler_flush_whileRegistering has the store lose its data at once after a node has registered its jobs again,
// before it is told how they stand: the node does not take that for what is to be done.
func TestScheduler_flush_whileRegistering(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var armed atomic.Bool
		times := 0
		store := &hooked{Store: c.Store, afterRegister: func() {
			if armed.Load() && times < 3 {
				times++
				c.Flush()
			}
		}}
		n := c.Node(Config{Store: store}, 0)
		n.MustAdd(Job{Name: "j", Spec: "@every 1s", Misfire: MisfireAll, Run: jobstest.Sleep(time.Millisecond)})
		n.Start()
		time.Sleep(10 * time.Second)
		armed.Store(true)
		c.Flush()
		time.Sleep(time.Minute)
		c.Stop()
		if n := beganOnce(t, c, 0); n < 69 || times != 3 {
			t.Errorf("%d ticks of 70 began, %d losses while registering", n, times)
		}
	})
}

// TestScheduler_flush_newNode has a node that knows nothing be the first to register a job with a store that has come
// back without its data, and to claim its next tick, and the others a moment later: what was due while the store was away
// runs all the same.
func TestScheduler_flush_newNode(t *testing.T) {
	t.Parallel()
	for round := range 8 {
		jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
			begin := func() {
				n := c.Node(Config{}, 0)
				n.MustAdd(Job{Name: "j", Spec: "@every 10s", Misfire: MisfireAll, Run: jobstest.Sleep(time.Millisecond)})
				n.Start()
			}
			begin()
			begin()
			time.Sleep(time.Minute)
			from := time.Now()
			c.Outage(true)
			time.Sleep(time.Minute + time.Duration(round)*1300*time.Millisecond)
			c.Flush()
			begin()
			time.Sleep(time.Duration(1+round%4) * 500 * time.Millisecond)
			c.Outage(false)
			time.Sleep(time.Minute)
			to := time.Now()
			c.Stop()
			beganOnce(t, c, round)
			ran := make(map[time.Time]bool)
			for _, r := range c.Finished("j") {
				ran[r.Tick] = true
			}
			for _, tick := range c.Ticks("@every 10s", from, to.Add(-time.Second)) {
				if !ran[tick] {
					t.Errorf("round %d: tick %s was missed", round, tick)
				}
			}
		})
	}
}
