package etcdstore

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/testenv"
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
					n.line.set(name, weather(rand.New(rand.NewPCG(r.Uint64(), 0))))
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
	return newRehousedAt(t, line, fakeLeases{line: line})
}

// newRehousedAt is a Locker with leases of etcd that somebody else may answer for.
func newRehousedAt(t *testing.T, line *fakeLine, leases etcd.Lease) *rehoused {
	t.Helper()
	store := line.store()
	store.client.Lease = leases
	return newRehousedIn(t, store, line)
}

func newRehousedIn(t *testing.T, store *Store, line *fakeLine) *rehoused {
	t.Helper()
	locks, err := lockrt.New(store, lockrt.Config{LocalHandoffs: -1, Logger: slog.New(slog.DiscardHandler)})
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

// lostOf is how many of some leases are lost.
func lostOf(all []*lockrt.Lease) (n int) {
	for _, lease := range all {
		if lease.Err() != nil {
			n++
		}
	}
	return n
}

func (n *rehoused) release(all ...*lockrt.Lease) {
	for _, lease := range all {
		_ = lease.Release(context.Background())
	}
}

// The cluster is another one from now on, or comes from a snapshot: its leaders have lower terms.
func TestGrant_termGoesBack(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		e.term = 7
		n := newRehoused(t, e)
		held := n.acquire(t, "held", lockrt.Options{TTL: 10 * time.Second})
		e.mu.Lock()
		e.term = 2
		before := e.granted
		e.mu.Unlock()
		n.release(n.acquire(t, "other", lockrt.Options{TTL: 30 * time.Second}))
		time.Sleep(time.Minute)
		if err := held.Check(t.Context()); err != nil {
			t.Error(err)
		}
		n.release(held)
		n.close(t)
		if e.mu.Lock(); e.granted > before+4 {
			t.Errorf("%d leases of etcd were granted", e.granted-before)
		}
		e.mu.Unlock()
	})
}

// ignorant is a former leader that does not know of its successor, nor of what that one has granted.
type ignorant struct {
	fakeLeases
	answers *atomic.Int64 // how many it gives
	full    *atomic.Bool  // the database is
	slow    *atomic.Bool  // grants are
}

func (x ignorant) KeepAliveOnce(ctx context.Context, id etcd.LeaseID) (*etcd.LeaseKeepAliveResponse, error) {
	if x.answers.Add(-1) >= 0 {
		return nil, rpctypes.ErrLeaseNotFound
	}
	return x.fakeLeases.KeepAliveOnce(ctx, id)
}

func (x ignorant) Grant(ctx context.Context, ttl int64) (*etcd.LeaseGrantResponse, error) {
	if x.full.Load() {
		return nil, rpctypes.ErrNoSpace
	}
	if x.slow.Load() {
		pace.Sleep(ctx, 2*time.Second)
	}
	return x.fakeLeases.Grant(ctx, ttl)
}

// newIgnorant is a Locker at a fakeEtcd and at a former leader.
func newIgnorant(t *testing.T, e *fakeEtcd) (*rehoused, ignorant) {
	t.Helper()
	line := newFakeLine(e)
	former := ignorant{fakeLeases{line: line}, new(atomic.Int64), new(atomic.Bool), new(atomic.Bool)}
	return newRehousedAt(t, line, former), former
}

// A former leader says that there is no such lease. Nobody loses a lock by that, and what etcd has really forgotten is lost.
func TestSignOfLife_formerLeader(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		n, former := newIgnorant(t, e)
		var held []*lockrt.Lease
		for i := range 100 {
			held = append(held, n.acquire(t, fmt.Sprint("k", i), lockrt.Options{TTL: 12 * time.Second}))
		}
		for range 10 {
			former.answers.Store(4)
			time.Sleep(10 * time.Second)
		}
		if lost := lostOf(held); lost > 0 {
			t.Errorf("%d locks are lost", lost)
		}
		former.answers.Store(0)
		e.mu.Lock()
		granted := e.granted
		e.mu.Unlock()
		for id := range granted {
			_ = e.end(id+1, true)
		}
		time.Sleep(11 * time.Second)
		if lost := lostOf(held); lost < len(held) {
			t.Errorf("of %d locks %d are lost", len(held), lost)
		}
		n.release(held...)
		n.close(t)
		time.Sleep(time.Minute)
	})
}

// The answer to an Extend is lost while its contender is rehoused. The contender comes under a lease of etcd that is as long as
// it needs.
func TestRehouse_extendWithoutAnswer(t *testing.T) {
	for wait := 7 * time.Second; wait < 11*time.Second; wait += 250 * time.Millisecond {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			const ttl, longer = 24 * time.Second, 50 * time.Second
			e := newFakeEtcd()
			n := newRehoused(t, e)
			other := n.acquire(t, "other", lockrt.Options{TTL: longer})
			lease := n.acquire(t, "k", lockrt.Options{TTL: ttl})
			time.Sleep(5 * time.Second)
			e.elect()
			time.Sleep(wait)
			requests := new(atomic.Int64)
			n.line.set("answers to writes are lost", func() fate {
				return fate{back: time.Millisecond, mute: requests.Add(1) > 1}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if lease.Extend(ctx, longer) == nil {
				t.Fatal("the Extend has had its answer")
			}
			n.line.set("calm", func() fate { return calm })
			for range 2 {
				time.Sleep(time.Minute)
				if err := lease.Extend(t.Context(), longer); err != nil {
					t.Errorf("after %s: %v", wait, err)
				}
			}
			n.release(lease, other)
			n.close(t)
			time.Sleep(3 * time.Minute)
		})
	}
}

// Thousands of long leases are rehoused at a slow etcd when short ones are found to need that, too.
func TestRehouse_shortBehindLong(t *testing.T) {
	const slow = 600 * time.Millisecond
	steps := []time.Duration{24 * time.Second, 24300 * time.Millisecond, 24600 * time.Millisecond}
	if testenv.RaceEnabled { // it takes six times as long
		steps = steps[1:2]
	}
	for _, after := range steps {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			n := newRehoused(t, e)
			var short, long []*lockrt.Lease
			for i := range 20 {
				short = append(short, n.acquire(t, fmt.Sprint("short", i), lockrt.Options{TTL: 8 * time.Second}))
			}
			for i := range 2500 {
				long = append(long, n.acquire(t, fmt.Sprint("long", i), lockrt.Options{TTL: time.Minute}))
			}
			n.line.set("slow", func() fate { return fate{there: slow / 2, back: slow / 2} })
			time.Sleep(after)
			e.elect()
			time.Sleep(time.Minute)
			if short, long := lostOf(short), lostOf(long); short+long > 0 {
				t.Errorf("after %s: %d short ones are lost, and %d long ones", after, short, long)
			}
			n.line.set("calm", func() fate { return calm })
			n.release(append(short, long...)...)
			n.close(t)
			time.Sleep(3 * time.Minute)
		})
	}
}

// Somebody has deleted the key of a lock that is not renewed. Whoever finds that out tells the holder.
func TestRehouse_gone(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		n := newRehoused(t, e)
		lease := n.acquire(t, "k", lockrt.Options{TTL: 10 * time.Minute, NoRenew: true})
		other := n.acquire(t, "other", lockrt.Options{TTL: 10 * time.Minute, NoRenew: true})
		e.mu.Lock()
		lock := []byte(newSpace("lockgen/", "lock").lock("k"))
		e.change(func() {
			e.remove(&pb.DeleteRangeRequest{Key: lock, RangeEnd: []byte(etcd.GetPrefixRangeEnd(string(lock)))})
		})
		e.mu.Unlock()
		e.elect()
		time.Sleep(3 * time.Minute)
		if lease.Err() == nil || other.Err() != nil {
			t.Errorf("of the lock that is gone its holder hears %v, and of another one %v", lease.Err(), other.Err())
		}
		n.release(lease, other)
		n.close(t)
		time.Sleep(20 * time.Minute)
	})
}

// The former leader is asked of a lease of etcd under which nothing is held, but somebody takes a lock.
func TestSignOfLife_formerLeaderDuringAcquire(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		n, former := newIgnorant(t, e)
		n.line.set("slow", func() fate { return fate{there: 50 * time.Millisecond, back: 50 * time.Millisecond} })
		for i := range 700 {
			former.answers.Store(100)
			lease, err := n.locks.Acquire(t.Context(), fmt.Sprint("k", i), lockrt.Options{TTL: 10 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			n.release(lease)
		}
		former.answers.Store(0)
		n.close(t)
		time.Sleep(time.Minute)
	})
}

// The former leader is asked of the lease of etcd that keeps a lock in a full database, or that lease is aged while another one
// is granted for the lock.
func TestMinHold_otherLeader(t *testing.T) {
	for name, happens := range map[string]func(*fakeEtcd, *lockrt.Lease, ignorant){
		"a former leader knows nothing": func(_ *fakeEtcd, _ *lockrt.Lease, former ignorant) {
			former.full.Store(true)
			former.answers.Store(4)
		},
		"another leader": func(e *fakeEtcd, lease *lockrt.Lease, former ignorant) {
			former.slow.Store(true)
			e.elect()
			_ = lease.Check(context.Background()) // which sees that
		},
	} {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			n, former := newIgnorant(t, e)
			other := newRehoused(t, e)
			const kept = 9 * time.Minute
			lease := n.acquire(t, "k", lockrt.Options{TTL: 4 * time.Second, MinHold: kept})
			began := time.Now()
			time.Sleep(time.Second)
			happens(e, lease, former)
			n.release(lease)
			time.AfterFunc(10*time.Second, func() {
				former.full.Store(false)
				former.slow.Store(false)
			})
			next, err := other.locks.Acquire(t.Context(), "k", lockrt.Options{TTL: 10 * time.Second, Wait: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took < kept {
				t.Errorf("%s: it was kept for %s, want %s", name, took, kept)
			}
			other.release(next)
			n.close(t)
			other.close(t)
			time.Sleep(time.Minute)
		})
	}
}
