package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

var silence = fate{lost: true}

// A former leader denies a lease of etcd, and then nobody answers for long enough for its locks to be given up. They were there
// all the time, and go on when they are released or broken, when their Locker closes, or each at the end of its TTL.
func TestLose_byMistake(t *testing.T) {
	const ttl, never = 10 * time.Minute, 24 * time.Hour
	plain, soon := lockrt.Options{TTL: ttl}, 2*time.Minute+callTime
	release := func(_ *rehoused, lease *lockrt.Lease, _ *rehoused) { _ = lease.Release(context.Background()) }
	type what func(n *rehoused, lease *lockrt.Lease, other *rehoused)
	type test struct {
		options                lockrt.Options
		before, silent, behind what // done when nobody answers, when it is lost, and when there are answers again
		least, most            time.Duration
	}
	for name, tt := range map[string]test{
		"nobody releases it":         {options: plain, least: 9 * time.Minute, most: ttl},
		"a shorter one":              {options: lockrt.Options{TTL: time.Minute}, least: time.Minute, most: time.Minute},
		"released before":            {options: plain, before: release, most: soon},
		"released in the silence":    {options: plain, silent: release, most: soon},
		"released behind it":         {options: plain, behind: release, most: soon},
		"one to read, behind it":     {options: lockrt.Options{TTL: ttl, Mode: lockrt.Read}, behind: release, most: soon},
		"a permit":                   {options: lockrt.Options{TTL: ttl, Permits: 1, MinHold: ttl}, least: ttl, most: ttl},
		"a permit, released":         {options: lockrt.Options{TTL: ttl, Permits: 1, MinHold: ttl}, behind: release, least: ttl, most: ttl},
		"MinHold, released before":   {options: lockrt.Options{TTL: ttl, MinHold: ttl / 2}, before: release, least: ttl / 2, most: ttl / 2},
		"MinHold, behind it":         {options: lockrt.Options{TTL: ttl, MinHold: ttl / 2}, behind: release, least: ttl / 2, most: ttl / 2},
		"MinHold for longer":         {options: lockrt.Options{TTL: ttl, MinHold: 2 * ttl}, behind: release, least: 2 * ttl, most: 2 * ttl},
		"with one that lasts longer": {options: lockrt.Options{TTL: never, NoRenew: true}, least: never, most: never},
		"broken in the silence": {options: plain, most: soon, silent: func(_ *rehoused, _ *lockrt.Lease, other *rehoused) {
			_ = other.locks.Break(context.Background(), "k", "in the silence")
		}},
		"broken behind it": {options: plain, most: soon, behind: func(_ *rehoused, _ *lockrt.Lease, other *rehoused) {
			_ = other.locks.Break(context.Background(), "k", "behind it")
		}},
		"closed": {options: plain, most: soon, behind: func(n *rehoused, _ *lockrt.Lease, _ *rehoused) {
			_ = n.locks.Close(context.Background())
		}},
		"closed with MinHold": {options: lockrt.Options{TTL: ttl, MinHold: ttl / 2}, least: ttl / 2, most: ttl / 2, behind: func(n *rehoused, _ *lockrt.Lease, _ *rehoused) {
			_ = n.locks.Close(context.Background())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				newLimits()
				defer newLimits()
				e := newFakeEtcd()
				n, former := newIgnorant(t, e)
				other := newRehoused(t, e)
				lease, began := n.acquire(t, "k", tt.options), time.Now()
				if tt.options.NoRenew {
					time.Sleep(tt.options.TTL - time.Hour)
				}
				does := func(w what) {
					if w != nil {
						w(n, lease, other)
					}
				}
				var others []*lockrt.Lease
				for i := range 20 {
					others = append(others, n.acquire(t, fmt.Sprint("other", i), lockrt.Options{TTL: tt.options.TTL}))
				}
				former.answers.Store(1000)
				n.line.set("silent", func() fate { return silence })
				does(tt.before)
				silent := time.Now()
				for lostOf(others) == 0 && time.Since(silent) < 2*time.Minute {
					time.Sleep(time.Second)
				}
				if lostOf(others) == 0 {
					t.Fatal("nothing is lost")
				}
				does(tt.silent)
				former.answers.Store(0)
				n.line.set("calm", func() fate { return calm })
				time.Sleep(2 * callTime)
				does(tt.behind)
				o := tt.options
				o.Wait, o.MinHold, o.NoRenew, o.Mode = 2*never, 0, false, lockrt.Write
				next := other.acquire(t, "k", o)
				if took := time.Since(began); took < tt.least || took > tt.most+askAgain {
					t.Errorf("it goes on after %s, want from %s to %s", took, tt.least, tt.most)
				}
				other.release(next)
				n.release(append(others, lease)...)
				n.close(t)
				other.close(t)
				time.Sleep(time.Minute)
				for _, left := range e.left() {
					t.Errorf("left: %s", left)
				}
			})
		})
	}
}

// A lease of etcd is given up by mistake, with the locks of others, before, while or after a lock under it is released that
// MinHold keeps.
func TestMinHold_classGivenUpByMistake(t *testing.T) {
	const kept = 3 * time.Minute
	for before := time.Duration(0); before < 80*time.Second; before += 2 * time.Second {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			n, former := newIgnorant(t, e)
			other := newRehoused(t, e)
			o := lockrt.Options{TTL: 10 * time.Minute, MinHold: kept}
			stays := n.acquire(t, "stays", lockrt.Options{TTL: o.TTL})
			lease, began := n.acquire(t, "k", o), time.Now()
			former.answers.Store(1000)
			n.line.set("silent", func() fate { return silence })
			time.Sleep(before)
			n.release(lease)
			time.Sleep(90*time.Second - time.Since(began))
			former.answers.Store(0)
			n.line.set("calm", func() fate { return calm })
			next := other.acquire(t, "k", lockrt.Options{TTL: o.TTL, Wait: time.Hour})
			if took := time.Since(began); took < kept || took > kept+askAgain {
				t.Errorf("released after %s: it is kept for %s, want %s", before, took, kept)
			}
			other.release(next, other.acquire(t, "stays", lockrt.Options{TTL: o.TTL, Wait: time.Hour}))
			if took := time.Since(began); took > o.TTL+askAgain {
				t.Errorf("released after %s: another lock that was lost goes on after %s", before, took)
			}
			n.release(stays)
			n.close(t)
			other.close(t)
			time.Sleep(time.Minute)
		})
	}
}

// presume has the leases of a Locker given up by mistake. It returns when there are answers again.
func presume(t *testing.T, n *rehoused, former ignorant, witness *lockrt.Lease) {
	t.Helper()
	former.answers.Store(1000)
	n.line.set("silent", func() fate { return silence })
	for began := time.Now(); witness.Err() == nil; time.Sleep(time.Second) {
		if time.Since(began) > 2*time.Minute {
			t.Fatal("nothing is lost")
		}
	}
	former.answers.Store(0)
	n.line.set("calm", func() fate { return calm })
	time.Sleep(2 * callTime)
}

// A lock that MinHold keeps for longer than its TTL is released just before that is over, or in a full database.
func TestMinHold_presumedAtItsEnd(t *testing.T) {
	const ttl, kept = 10 * time.Minute, 13 * time.Minute
	for silent := time.Duration(0); silent < 9*time.Second; silent += time.Second {
		for _, full := range []bool{false, true} {
			testsync.Bubble(t, func(t *testing.T) {
				newLimits()
				defer newLimits()
				e := newFakeEtcd()
				n, former := newIgnorant(t, e)
				other := newRehoused(t, e)
				lease, began := n.acquire(t, "k", lockrt.Options{TTL: ttl, MinHold: kept}), time.Now()
				presume(t, n, former, lease)
				former.full.Store(full)
				time.Sleep(ttl - time.Since(began) - time.Second)
				n.line.set("silent", func() fate { return silence })
				time.AfterFunc(silent, func() { n.line.set("calm", func() fate { return calm }) })
				n.release(lease)
				next := other.acquire(t, "k", lockrt.Options{TTL: ttl, Wait: time.Hour})
				if took := time.Since(began); took < kept || took > kept+askAgain {
					t.Errorf("silent for %s, full: %t: it is kept for %s, want %s", silent, full, took, kept)
				}
				former.full.Store(false)
				other.release(next)
				n.close(t)
				other.close(t)
				time.Sleep(time.Hour)
			})
		}
	}
}

// Leases are looked at, or extended, while one after the other is told that it was given up by mistake. All are there to be
// released.
func TestCheck_whilePresumed(t *testing.T) {
	for name, does := range map[string]func(*lockrt.Lease) error{
		"check":  func(lease *lockrt.Lease) error { return lease.Check(context.Background()) },
		"extend": func(lease *lockrt.Lease) error { return lease.Extend(context.Background(), time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				newLimits()
				defer newLimits()
				e := newFakeEtcd()
				n, former := newIgnorant(t, e)
				other := newRehoused(t, e)
				o := lockrt.Options{TTL: 10 * time.Minute}
				var all []*lockrt.Lease
				for i := range 300 {
					all = append(all, n.acquire(t, fmt.Sprint("k", i), o))
				}
				first := make(chan struct{})
				var once sync.Once
				for _, lease := range all {
					context.AfterFunc(lease.Context(), func() { once.Do(func() { close(first) }) })
				}
				var doing sync.WaitGroup
				for i := range 4 {
					doing.Go(func() {
						<-first
						for _, lease := range all[i*len(all)/4 : (i+1)*len(all)/4] {
							_ = does(lease)
						}
					})
				}
				presume(t, n, former, all[0])
				doing.Wait()
				n.release(all...)
				time.Sleep(callTime)
				for i := range all {
					lease, err := other.locks.Acquire(t.Context(), fmt.Sprint("k", i), o)
					if err != nil {
						t.Fatalf("lock %d: %v", i, err)
					}
					other.release(lease)
				}
				n.close(t)
				other.close(t)
				time.Sleep(time.Minute)
			})
		})
	}
}

// A renewal or a look says of a lease that was given up by mistake what the Locker is told of it, also if that happens meanwhile.
func TestRenew_presumed(t *testing.T) {
	const ttl = 10 * time.Minute
	for after := time.Duration(0); after < 800*time.Millisecond; after += 50 * time.Millisecond {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			line := newFakeLine(newFakeEtcd())
			told := make(chan error, 2)
			opened, err := line.store().Open(lockrt.SessionConfig{
				Namespace: "lock", Logger: slog.New(slog.DiscardHandler), Lost: func(_ string, reason error) { told <- reason },
			})
			if err != nil {
				t.Fatal(err)
			}
			s := opened.(*session)
			if _, err := s.Acquire(t.Context(), lockrt.Request{Key: "a", ID: "a", TTL: ttl}); err != nil {
				t.Fatal(err)
			}
			c := s.leases["a"].class
			line.set("slow", func() fate { return fate{there: 100 * time.Millisecond, back: 100 * time.Millisecond} })
			time.AfterFunc(after, func() { s.lose(c, presumption{rpctypes.ErrLeaseNotFound}) })
			time.Sleep(time.Millisecond)
			for what, err := range map[string]error{
				"renew": s.Renew(t.Context(), []lockrt.Renewal{{Key: "a", ID: "a", TTL: 2 * ttl}})[0],
				"check": s.Check(t.Context(), []lockrt.HeldLease{{Key: "a", ID: "a"}})[0],
			} {
				if errors.Is(err, lockrt.ErrLost) {
					t.Errorf("given up after %s: %s: %v", after, what, err)
				}
			}
			time.Sleep(time.Second)
			select {
			case err := <-told:
				if !errors.Is(err, errPresumed) {
					t.Error(err)
				}
			default:
				if s.leases["a"] == nil {
					t.Errorf("given up after %s: nobody is told", after)
				}
			}
			if err := s.Release(t.Context(), lockrt.Release{Key: "a", ID: "a"}); err != nil {
				t.Error(err)
			}
			if err := s.Close(context.Background()); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
			for _, left := range line.etcd.left() {
				t.Errorf("given up after %s: left: %s", after, left)
			}
		})
	}
}

// mistaken says, once it is armed, that it does not know a lease of etcd that lasts long.
type mistaken struct {
	fakeLeases
	armed *atomic.Bool
	asked chan struct{}
	once  *sync.Once
}

func (x mistaken) KeepAliveOnce(ctx context.Context, id etcd.LeaseID) (*etcd.LeaseKeepAliveResponse, error) {
	x.line.etcd.mu.Lock()
	l := x.line.etcd.leases[int64(id)]
	x.line.etcd.mu.Unlock()
	if l != nil && l.ttl > time.Minute && x.armed.Load() {
		x.once.Do(func() { close(x.asked) })
		return nil, rpctypes.ErrLeaseNotFound
	}
	return x.fakeLeases.KeepAliveOnce(ctx, id)
}

// An Acquire has its answer a moment after its lease of etcd was given up by mistake. It leaves nothing behind, and whoever waits
// gets the lock.
func TestAcquire_answerAfterMistake(t *testing.T) {
	for _, wait := range []time.Duration{0, time.Minute} {
		for at := 3500 * time.Millisecond; at < callTime; at += 100 * time.Millisecond {
			testsync.Bubble(t, func(t *testing.T) {
				newLimits()
				defer newLimits()
				e := newFakeEtcd()
				line := newFakeLine(e)
				former := mistaken{fakeLeases{line: line}, new(atomic.Bool), make(chan struct{}), new(sync.Once)}
				n, other := newRehousedAt(t, line, former), newRehoused(t, e)
				o := lockrt.Options{TTL: 10 * time.Minute}
				stays := n.acquire(t, "stays", o)
				time.Sleep(10 * time.Second)
				former.armed.Store(true)
				<-former.asked
				n.line.set("silent", func() fate { return silence })
				time.Sleep(at)
				n.line.set("slow", func() fate { return fate{there: 500 * time.Millisecond, back: 500 * time.Millisecond} })
				got := make(chan *lockrt.Lease, 1)
				go func() {
					lease, err := n.locks.Acquire(context.Background(), "k", lockrt.Options{TTL: o.TTL, Wait: wait})
					if err != nil && wait > 0 {
						t.Errorf("at %s: %v", at, err)
					}
					got <- lease
				}()
				time.Sleep(3 * time.Second)
				former.armed.Store(false)
				n.line.set("calm", func() fate { return calm })
				n.release(<-got)
				time.Sleep(callTime)
				if lease, err := other.locks.Acquire(t.Context(), "k", o); err != nil {
					t.Errorf("wait %s at %s: %v", wait, at, err)
				} else {
					other.release(lease)
				}
				n.release(stays)
				n.close(t)
				other.close(t)
				time.Sleep(time.Hour)
			})
		}
	}
}

// Nobody answers for minutes when a lock is released, and the lease of etcd lasts longer than that and has other users. The lock
// is free when there are answers again.
func TestRelease_longSilence(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		n, other := newRehoused(t, e), newRehoused(t, e)
		o := lockrt.Options{TTL: 10 * time.Minute}
		stays, lease := n.acquire(t, "stays", o), n.acquire(t, "k", o)
		n.line.set("silent", func() fate { return silence })
		n.release(lease)
		time.Sleep(2 * patience)
		n.line.set("calm", func() fate { return calm })
		began := time.Now()
		o.Wait = time.Minute
		next := other.acquire(t, "k", o)
		if took := time.Since(began); took > longPause+callTime {
			t.Errorf("it is free after %s", took)
		}
		other.release(next)
		if err := stays.Release(t.Context()); err != nil {
			t.Error(err)
		}
		n.close(t)
		other.close(t)
		time.Sleep(time.Minute)
	})
}

// noWrites is a line that refuses to write keys.
type noWrites struct {
	*fakeLine
	on atomic.Bool
}

func (x *noWrites) Txn(ctx context.Context, r *pb.TxnRequest, o ...grpc.CallOption) (*pb.TxnResponse, error) {
	if x.on.Load() {
		return nil, rpctypes.ErrPermissionDenied
	}
	return x.fakeLine.Txn(ctx, r, o...)
}

func (x *noWrites) DeleteRange(
	ctx context.Context, r *pb.DeleteRangeRequest, o ...grpc.CallOption,
) (*pb.DeleteRangeResponse, error) {
	if x.on.Load() {
		return nil, rpctypes.ErrPermissionDenied
	}
	return x.fakeLine.DeleteRange(ctx, r, o...)
}

// A lock that MinHold keeps cannot be released, and its time is long over when the Locker closes. What was released besides is
// free then.
func TestClose_keptIsOver(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		line, other := &noWrites{fakeLine: newFakeLine(e)}, newRehoused(t, e)
		store := line.store()
		store.client.KV = etcd.NewKVFromKVClient(line, nil)
		n := newRehousedIn(t, store, line.fakeLine)
		o := lockrt.Options{TTL: time.Hour}
		others := n.acquire(t, "others", o)
		kept := n.acquire(t, "kept", lockrt.Options{TTL: o.TTL, MinHold: time.Minute})
		line.on.Store(true)
		n.release(kept, others)
		time.Sleep(10 * time.Minute)
		_ = n.locks.Close(t.Context())
		for _, key := range []string{"others", "kept"} {
			other.release(other.acquire(t, key, lockrt.Options{TTL: o.TTL, Wait: time.Second}))
		}
		other.close(t)
		time.Sleep(time.Minute)
	})
}

// What calls readers who do not hear it ends with their leases of etcd, and not with those of who waits.
func TestCallReaders_ended(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		n := newRehoused(t, e)
		stays := n.acquire(t, "stays", lockrt.Options{TTL: time.Hour})
		for i := range 3 {
			reader := newRehoused(t, e)
			reader.acquire(t, "k", lockrt.Options{TTL: 10 * time.Second, Mode: lockrt.Read})
			time.Sleep(time.Second)
			reader.line.set("silent", func() fate { return silence })
			time.AfterFunc(time.Second, func() { _ = reader.locks.Close(context.Background()) })
			n.release(n.acquire(t, "k", lockrt.Options{TTL: time.Hour, Wait: time.Hour}))
			time.Sleep(time.Minute)
			if calls := slices.DeleteFunc(e.left(), func(left string) bool { return !strings.HasSuffix(left, recallMark) }); len(calls) > 0 {
				t.Errorf("after reader %d: %s", i, fmt.Sprint(calls))
			}
		}
		n.release(stays)
		n.close(t)
		time.Sleep(time.Minute)
	})
}
