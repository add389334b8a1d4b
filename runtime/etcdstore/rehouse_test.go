package etcdstore

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// etcd changes its leader again and again, and the former leaders, who stood still, revoke what they know of. Nobody loses a
// lock, those who wait under a lease of etcd from before come in, and nothing is left behind.
func TestRehouse(t *testing.T) {
	calmly := func() fate { return calm }
	for name, weather := range map[string]func(*rand.Rand) func() fate{
		"calm": func(*rand.Rand) func() fate { return calmly },
		"answers are lost": func(r *rand.Rand) func() fate {
			return func() fate { return fate{back: time.Millisecond, mute: r.IntN(5) == 0} }
		},
		"requests are late": func(r *rand.Rand) func() fate {
			return func() fate { return fate{there: between(r, 0, 200*time.Millisecond)} }
		},
	} {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				newLimits()
				defer newLimits()
				const ttl, locks = 12 * time.Second, 100
				e := newFakeEtcd()
				n := newRehoused(t, e)
				var held []*lockrt.Lease
				for i := range locks {
					o := lockrt.Options{TTL: ttl + time.Duration(i%3)*10*time.Second}
					switch key := fmt.Sprint("k", i); i % 4 {
					case 0:
						o.Mode = lockrt.Read
						held = append(held, n.acquire(t, key, o))
					case 1:
						o.Permits = 2
						held = append(held, n.acquire(t, key, o))
					}
					held = append(held, n.acquire(t, fmt.Sprint("k", i), o))
				}
				first := n.acquire(t, "w", lockrt.Options{TTL: time.Minute})
				next := make(chan *lockrt.Lease, 1)
				other := newRehoused(t, e)
				go func() {
					lease, err := other.locks.Acquire(context.Background(), "w", lockrt.Options{TTL: ttl, Wait: time.Hour})
					if err != nil {
						t.Error(err)
					}
					next <- lease
				}()
				r := rand.New(rand.NewPCG(1, 2))
				for range 3 {
					time.Sleep(between(r, 0, ttl))
					n.line.set(name, weather(r))
					e.elect()
					time.Sleep(between(r, 0, ttl))
					if err := held[0].Extend(t.Context(), between(r, ttl, 90*time.Second)); err != nil {
						t.Error(err)
					}
					time.Sleep(2 * time.Minute)
					e.goOn()
				}
				n.line.set("calm", calmly)
				time.Sleep(ttl)
				for i, lease := range held {
					if err := lease.Check(t.Context()); err != nil {
						t.Fatalf("lease %d: %v", i, err)
					}
				}
				e.elect()
				time.Sleep(time.Minute) // nobody believes in the class of the waiter any more
				if err := first.Release(t.Context()); err != nil {
					t.Error(err)
				}
				var last *lockrt.Lease
				select {
				case last = <-next:
				case <-time.After(time.Second):
					t.Fatal("the waiter does not come in")
				}
				time.Sleep(time.Minute)
				e.goOn()
				for _, lease := range append(held, last) {
					if err := lease.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
				n.close(t)
				other.close(t)
				time.Sleep(2 * time.Minute)
				for _, left := range e.left() {
					t.Errorf("left: %s", left)
				}
			})
		})
	}
}

// rehoused is a Locker at a fakeEtcd.
type rehoused struct {
	locks *lockrt.Locker
	line  *fakeLine
}

func newRehoused(t *testing.T, e *fakeEtcd) *rehoused {
	t.Helper()
	line := newFakeLine(e)
	locks, err := lockrt.New(line.store(), lockrt.Config{LocalHandoffs: -1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return &rehoused{locks, line}
}

func (n *rehoused) acquire(t *testing.T, key string, o lockrt.Options) *lockrt.Lease {
	t.Helper()
	lease, err := n.locks.Acquire(t.Context(), key, o)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func (n *rehoused) close(t *testing.T) {
	t.Helper()
	if err := n.locks.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
