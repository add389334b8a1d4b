package jobs

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestScheduler_cutOffNodeKeepsItsRun cuts a node off from the store of jobs only: it still holds the lock and is at
// work, so nobody may take its run over.
func TestScheduler_cutOffNodeKeepsItsRun(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		b := &body{takes: 5 * time.Minute, during: func(n *node, start int) { n.wire.jobsCut.Store(true) }}
		for range 3 {
			n := c.node(Config{}, 0)
			n.add(Job{Name: "j", Spec: "1 * * * *", Retries: 5, Run: b.on(n)})
			n.start()
		}
		time.Sleep(5 * time.Minute)
		for _, n := range c.all {
			n.wire.jobsCut.Store(false)
		}
		time.Sleep(5 * time.Minute)
		c.stop()
		if got := outcomes(c.stored("j")); got != "ok" || len(b.starts) != 1 {
			t.Errorf("runs %q, started on %v; want one", got, b.starts)
		}
	})
}

// TestScheduler_lostReplies drops the answers to claims, begins and records: nothing runs twice or not at all.
func TestScheduler_lostReplies(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		b := &body{takes: time.Second}
		from := time.Now()
		for i := range 3 {
			n := c.node(Config{}, 0)
			n.add(Job{Name: "j", Spec: "* * * * *", Retries: 3, Run: b.on(n)})
			n.start()
			go func() {
				for m := range 30 {
					if (m+i)%2 == 0 {
						n.wire.dropReplies.Store(int32(1 + m%4))
					}
					time.Sleep(time.Minute)
				}
			}()
		}
		time.Sleep(30*time.Minute + 30*time.Second)
		to := time.Now()
		c.stop()
		c.expectOnce("j", "* * * * *", from, to)
		if len(b.starts) != 30 {
			t.Errorf("started %d times, want 30", len(b.starts))
		}
	})
}

// TestScheduler_poison has a run that kills every node that takes it over before it has begun: that comes to an end.
func TestScheduler_poison(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		n := c.node(Config{}, 0)
		b := &body{}
		n.add(Job{Name: "j", Spec: "1 1 * * *", Run: b.on(n)})
		n.start()
		time.Sleep(time.Minute)
		s := &storeTester{t: t, Store: c.store}
		claim := s.nextClaim("j", "dead")
		claim.Lease, claim.Keep = 0, 100
		claim.Pending.Recoveries = maxRecoveries
		s.claim(claim, ClaimWon)
		time.Sleep(5 * time.Minute)
		if runs := c.stored("j"); outcomes(runs) != "lost" || len(b.starts) != 0 || !strings.Contains(runs[0].Reason, "not run again, too many nodes") {
			t.Errorf("runs %+v, started on %v; want it lost and left alone", runs, b.starts)
		}
		c.stop()
	})
}

// TestScheduler_beginIsNotedFirst cuts the node off from the store of jobs while it waits for the lock. It must not begin
// before the store knows: if it died then, another would run the tick again as one that had not begun.
func TestScheduler_beginIsNotedFirst(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		b := &body{}
		n := c.node(Config{}, 0)
		lease, err := n.locks.Acquire(context.Background(), "job:j", lockOptions)
		if err != nil {
			t.Fatal(err)
		}
		n.add(Job{Name: "j", Spec: "1 * * * *", Overlap: OverlapQueue, Run: b.on(n)})
		n.start()
		time.Sleep(65 * time.Second)
		n.wire.jobsCut.Store(true)
		if err := lease.Release(context.Background()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if len(b.starts) != 0 {
			t.Error("it began without the store's word")
		}
		n.wire.jobsCut.Store(false)
		time.Sleep(time.Minute)
		c.stop()
		if got := outcomes(c.runs("j")); got != "ok" || len(b.starts) != 1 {
			t.Errorf("outcomes %q, started on %v; want one run when the store was back", got, b.starts)
		}
	})
}

// TestScheduler_takenOver has no lock and a node that is cut off from the store of jobs: others take its run over, and
// when it is back it is told to stop, and its record is refused.
func TestScheduler_takenOver(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		var cause atomic.Value
		for range 2 {
			n := c.node(Config{}, 0)
			n.add(Job{Name: "j", Spec: "1 * * * *", Overlap: OverlapAllow, Retries: 1, Run: func(ctx context.Context) error {
				if cause.CompareAndSwap(nil, errCut) { // the first to come
					n.wire.jobsCut.Store(true)
					<-ctx.Done()
					cause.Store(context.Cause(ctx))
				}
				return nil
			}})
			n.start()
		}
		time.Sleep(5 * time.Minute)
		for _, n := range c.all {
			n.wire.jobsCut.Store(false)
		}
		time.Sleep(time.Minute)
		if cause.Load() != errTakenOver {
			t.Errorf("cause %v, want %v", cause.Load(), errTakenOver)
		}
		c.stop()
		if got := outcomes(c.stored("j")); got != "ok lost" {
			t.Errorf("recorded, latest first: %q, want %q", got, "ok lost")
		}
	})
}
