package etcdstore

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// What Release says of MinHold is true, whatever else ends the lease, and whatever had no answer.

// mustBeTrue checks what a release with a MinHold of a minute has said: if it is kept, nobody else gets the lock k for 20 s.
func mustBeTrue(t *testing.T, said error, other *session) {
	t.Helper()
	time.Sleep(20 * time.Second)
	_, err := other.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "b", TTL: time.Minute})
	if said == nil && err == nil {
		t.Error("it was to be kept for a minute, and somebody has it after 20 s")
	}
	_ = other.Release(t.Context(), lockrt.Release{Key: "k", ID: "b"})
	time.Sleep(time.Minute)
}

// A lease has run out, and its contender is not deleted yet when it is released with MinHold: the deletion would end what is
// kept.
func TestMinHold_runOut(t *testing.T) {
	for _, doubt := range []bool{false, true} {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			s, other, _ := openTwo(t, e)
			mustTake(t, s, "k", "a")
			if doubt {
				withDoubt(s, "a")
			}
			s.mu.Lock()
			until := s.leases["a"].until
			s.mu.Unlock()
			time.Sleep(time.Until(until) - attemptTime/2)
			busyJanitor(s)
			time.Sleep(time.Until(until) + time.Millisecond)
			s.endDue()
			err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: time.Minute})
			if !errors.Is(err, lockrt.ErrLost) {
				t.Errorf("doubt: %t: it is kept: %v", doubt, err)
			}
			time.Sleep(2 * attemptTime)
			mustTake(t, other, "k", "b")
			if err := other.Release(t.Context(), lockrt.Release{Key: "k", ID: "b"}); err != nil {
				t.Error(err)
			}
			endBoth(t, e, s, other)
		})
	}
}

// A lease of which etcd has forgotten a class is released with MinHold before its holder is told.
func TestMinHold_forgotten(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		line := newFakeLine(e)
		var s *session
		s = openSession(t, line, line, func(id string, _ error) {
			err := s.Release(context.Background(), lockrt.Release{Key: "k", ID: id, Keep: time.Minute})
			if !errors.Is(err, lockrt.ErrLost) {
				t.Errorf("it is kept: %v", err)
			}
		})
		mustTake(t, s, "k", "a")
		_, to := mayMove(t, s)
		if err := s.revoke(t.Context(), to.id); err != nil { // an operator
			t.Fatal(err)
		}
		s.lose(to, rpctypes.ErrLeaseNotFound)
		endBoth(t, e, s)
	})
}

// A lease is broken, and released with MinHold. The first request for that has an answer that is lost, and when the second
// finds what the first has kept, that the lease was broken is nowhere but in what its process is told, or was.
func TestMinHold_brokenAndAnswerLost(t *testing.T) {
	for _, told := range []bool{false, true} {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			line, line2 := newFakeLine(e), newFakeLine(e)
			slow := &slowTxn{fakeLine: line, back: time.Minute}
			slow.slow = func(r *pb.TxnRequest) bool { return len(r.Compare) == 1 && putsK(r) }
			s := openSession(t, line, slow, func(string, error) { time.Sleep(10 * time.Second) })
			other := openSession(t, line2, line2, func(string, error) {})
			grant := mustTake(t, s, "k", "a")
			s.mu.Lock()
			h := *s.leases["a"] // as its release knows it that has begun before
			s.mu.Unlock()
			broken := lockrt.Breaking{Key: "k", ID: "a", Fence: lockrt.FenceOf(grant.Epoch), Reason: "test"}
			if err := other.Break(t.Context(), broken); err != nil {
				t.Fatal(err)
			}
			if told {
				time.Sleep(time.Second)
				if _, err := other.client.Delete(t.Context(), s.space.told(s.id, "a")); err != nil {
					t.Fatal(err)
				}
			}
			limited, cancel := bounded(t.Context())
			defer cancel()
			err := s.release(limited, lockrt.Release{Key: "k", ID: "a", Keep: time.Minute}, &h)
			if !errors.Is(err, lockrt.ErrLost) {
				t.Errorf("told: %t: it is kept: %v", told, err)
			}
			if !slow.once.Load() {
				t.Error("no answer was lost")
			}
			time.Sleep(time.Minute)
			endBoth(t, e, s, other)
		})
	}
}

// keepsK are transactions that leave what MinHold keeps of the lock k.
func keepsK(r *pb.TxnRequest) bool {
	return slices.ContainsFunc(r.Success, func(op *pb.RequestOp) bool {
		p := op.GetRequestPut()
		return strings.Contains(string(p.GetKey()), "/k/") && strings.Contains(string(p.GetValue()), `"kept":true`)
	})
}

// A short MinHold is over before the servers answer again. The lock was kept for that long, and its lease was not lost.
func TestMinHold_shorterThanSilence(t *testing.T) {
	for _, keep := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second} {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			line := newFakeLine(e)
			slow := &slowTxn{fakeLine: line, back: time.Minute, slow: func(r *pb.TxnRequest) bool {
				if !keepsK(r) {
					return false
				}
				time.AfterFunc(10*time.Millisecond, func() { line.set("silent", func() fate { return silence }) }) // from its arrival on
				time.AfterFunc(3500*time.Millisecond, func() { line.set("calm", func() fate { return calm }) })
				return true
			}}
			s := openSession(t, line, slow, func(string, error) {})
			mustTake(t, s, "k", "a")
			began := time.Now()
			err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: keep})
			if errors.Is(err, lockrt.ErrLost) {
				t.Errorf("keep %s: after %s it is lost: %v", keep, time.Since(began), err)
			}
			if !slow.once.Load() {
				t.Error("no answer was lost")
			}
			endBoth(t, e, s)
		})
	}
}

// The same seen by the caller of a Locker.
func TestMinHold_shorterThanSilence_locker(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		line := newFakeLine(e)
		slow := &slowTxn{fakeLine: line, back: time.Minute, slow: keepsK}
		store := line.store()
		store.client.KV = etcd.NewKVFromKVClient(slow, nil)
		locks, err := lockrt.New(store, lockrt.Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		lease, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: 10 * time.Minute, MinHold: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		err = lease.Release(context.Background())
		if errors.Is(err, lockrt.ErrLost) || err != nil && strings.Contains(err.Error(), "does not keep") {
			t.Errorf("lost: %v", err)
		}
		_ = locks.Close(context.Background())
		time.Sleep(time.Minute)
	})
}

// A lease that is presumed to be lost is broken while it is being released with MinHold. The lock goes on, also if the session
// hears of that when the release is over.
func TestBreak_presumedWhileReleased(t *testing.T) {
	for i := range 4 {
		presumed, late := i%2 == 0, time.Duration(i/2)*5*time.Second
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			line, line2 := newFakeLine(e), newFakeLine(e)
			slow := &slowTxn{fakeLine: line, there: 500 * time.Millisecond, slow: keepsK}
			s, other := openSession(t, line, slow, func(string, error) {}), openSession(t, line2, line2, func(string, error) {})
			s.client.Watcher = lateWatch{s.client.Watcher.(fakeWatcher), late}
			grant := mustTake(t, s, "k", "a")
			time.Sleep(time.Second)
			if presumed {
				s.lose(s.leases["a"].class, presumption{rpctypes.ErrLeaseNotFound})
			}
			released := make(chan error, 1)
			go func() {
				released <- s.Release(context.Background(), lockrt.Release{Key: "k", ID: "a", Keep: time.Hour})
			}()
			time.Sleep(100 * time.Millisecond)
			broken := lockrt.Breaking{Key: "k", ID: "a", Fence: lockrt.FenceOf(grant.Epoch), Reason: "test"}
			if err := other.Break(t.Context(), broken); err != nil {
				t.Fatal(err)
			}
			if err := <-released; !errors.Is(err, lockrt.ErrLost) {
				t.Errorf("presumed %t, heard after %s: %v", presumed, late, err)
			}
			time.Sleep(20 * time.Second)
			_, err := other.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "b", TTL: time.Minute})
			if err != nil {
				t.Errorf("presumed %t, heard after %s: it was broken, and its release says that it is not kept: %v", presumed, late, err)
			}
			_ = other.Release(t.Context(), lockrt.Release{Key: "k", ID: "b"})
			time.Sleep(time.Hour)
			endBoth(t, e, s, other)
		})
	}
}

// The contender of a lease for which another request may still come has been deleted by hand, or broken with Force, and it is
// released with MinHold. What the request would put is nobody's.
func TestMinHold_deletedWithDoubt(t *testing.T) {
	for _, force := range []bool{false, true} {
		for _, keep := range []time.Duration{0, time.Minute} {
			testsync.Bubble(t, func(t *testing.T) {
				newLimits()
				defer newLimits()
				e := newFakeEtcd()
				s, other, line := withLatePut(t, e, 20*time.Second)
				grant := mustTake(t, s, "k", "a")
				s.mu.Lock()
				h := *s.leases["a"]
				s.mu.Unlock()
				if h.doubt == 0 {
					t.Fatal("no request may come late")
				}
				if force {
					broken := lockrt.Breaking{Key: "k", ID: "a", Fence: lockrt.FenceOf(grant.Epoch), Reason: "test", Force: true}
					line.set("silent", func() fate { return silence })
					if err := other.Break(t.Context(), broken); err != nil {
						t.Fatal(err)
					}
					time.AfterFunc(time.Second, func() { line.set("calm", func() fate { return calm }) })
				} else if _, err := s.client.Delete(t.Context(), h.me); err != nil {
					t.Fatal(err)
				}
				if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: keep}); !errors.Is(err, lockrt.ErrLost) {
					t.Errorf("force %t, keep %s: it is not lost: %v", force, keep, err)
				}
				time.Sleep(2 * time.Minute)
				mustBeFree(t, other)
				endLatePut(t, e, s, other)
			})
		}
	}
}

// A release without MinHold had no answer, and one with MinHold has. The first comes late.
func TestMinHold_afterLateReleaseWithout(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		line := &slowDelete{fakeLine: newFakeLine(e), there: 4 * time.Second}
		s := openSession(t, line.fakeLine, line, func(string, error) {})
		line2 := newFakeLine(e)
		other := openSession(t, line2, line2, func(string, error) {})
		mustTake(t, s, "k", "a")
		busyJanitor(s)
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_ = s.Release(short, lockrt.Release{Key: "k", ID: "a"})
		err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: time.Minute})
		mustBeTrue(t, err, other)
		endBoth(t, e, s, other)
	})
}

// A lease has run out, and its deletion is under way. A release without MinHold has no answer; one with MinHold follows.
func TestMinHold_runOutAndReleased(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		line, line2 := newFakeLine(e), newFakeLine(e)
		slow := &slowTxn{fakeLine: line, there: 8 * time.Second, slow: deletesK}
		s, other := openSession(t, line, slow, func(string, error) {}), openSession(t, line2, line2, func(string, error) {})
		mustTake(t, s, "k", "a")
		s.mu.Lock()
		until := s.leases["a"].until
		s.mu.Unlock()
		time.Sleep(time.Until(until) + 10*time.Millisecond) // endDue has its deletion sent, which comes in 8 s
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		line.set("refused", func() fate { return fate{refused: rpctypes.ErrNoLeader} })
		_ = s.Release(short, lockrt.Release{Key: "k", ID: "a"})
		line.set("calm", func() fate { return calm })
		err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: time.Minute})
		mustBeTrue(t, err, other)
		endBoth(t, e, s, other)
	})
}

// Another request for a lease may still come. Its release with MinHold has no answer, and a second one has, and is over when the
// first goes on. What the request puts then is nobody's.
func TestMinHold_againWithDoubt(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		s, other, line := withLatePut(t, e, 20*time.Second)
		mustTake(t, s, "k", "a")
		line.set("silent", func() fate { return silence })
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := s.Release(short, lockrt.Release{Key: "k", ID: "a", Keep: time.Second}); err == nil {
			t.Fatal("it was answered")
		}
		time.Sleep(50 * time.Millisecond) // it goes on, and what it sends is lost
		line.set("calm", func() fate { return calm })
		if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: 850 * time.Millisecond}); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
		mustBeFree(t, other)
		endLatePut(t, e, s, other)
	})
}

// The same at a Locker: whoever releases gives up, and releases again.
func TestMinHold_againWithDoubt_locker(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		line := newFakeLine(e)
		slow := &slowTxn{fakeLine: line, there: 20 * time.Second, slow: putsK}
		store := line.store()
		store.client.KV = etcd.NewKVFromKVClient(slow, nil)
		locks, err := lockrt.New(store, lockrt.Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		other := newRehoused(t, e)
		stays, err := locks.Acquire(t.Context(), "other", lockrt.Options{TTL: 10 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		lease, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: 10 * time.Minute, MinHold: time.Second, Wait: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		line.set("silent", func() fate { return silence })
		for err := error(nil); ; {
			ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
			err = lease.Release(ctx)
			cancel()
			time.Sleep(20 * time.Millisecond)
			if time.Since(began) > 100*time.Millisecond {
				line.set("calm", func() fate { return calm })
			}
			if err == nil || time.Since(began) > 10*time.Second {
				break
			}
		}
		time.Sleep(2 * time.Minute)
		if next, err := other.locks.Acquire(t.Context(), "k", lockrt.Options{TTL: time.Minute, Wait: 20 * time.Second}); err != nil {
			t.Errorf("somebody has it: %v", err)
		} else {
			other.release(next)
		}
		_ = stays.Release(t.Context())
		_ = locks.Close(context.Background())
		other.close(t)
		time.Sleep(time.Minute)
	})
}

// A release with MinHold is given up, and its Locker is closed at once.
func TestMinHold_givenUpAndClosed(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		n, other := newRehoused(t, e), newRehoused(t, e)
		lease := n.acquire(t, "k", lockrt.Options{TTL: 10 * time.Minute, MinHold: 5 * time.Minute})
		began := time.Now()
		n.line.set("silent", func() fate { return silence })
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer cancel()
		if err := lease.Release(ctx); err == nil {
			t.Error("it was answered")
		}
		n.line.set("calm", func() fate { return calm })
		if err := n.locks.Close(context.Background()); err != nil {
			t.Error(err)
		}
		next := other.acquire(t, "k", lockrt.Options{TTL: time.Minute, Wait: time.Hour})
		if kept := time.Since(began); kept < 5*time.Minute || kept > 5*time.Minute+askAgain {
			t.Errorf("it was kept for %s of 5m", kept)
		}
		other.release(next)
		other.close(t)
		time.Sleep(time.Minute)
	})
}

// slowRevoke is a line on which the first end of a lease of etcd has no answer.
type slowRevoke struct {
	fakeLeases
	id   etcd.LeaseID
	once atomic.Bool
}

func (x *slowRevoke) Revoke(ctx context.Context, id etcd.LeaseID) (*etcd.LeaseRevokeResponse, error) {
	if id != x.id || !x.once.CompareAndSwap(false, true) {
		return x.fakeLeases.Revoke(ctx, id)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// The lease of etcd of what MinHold keeps runs out before the second try, which has another one. The first comes late, when
// the process has taken the lock again.
func TestMinHold_firstTryAfterTheNextGrant(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		line, line2 := newFakeLine(e), newFakeLine(e)
		slow := &slowTxn{fakeLine: line, there: 6 * time.Second, slow: keepsK}
		s, other := openSession(t, line, slow, func(string, error) {}), openSession(t, line2, line2, func(string, error) {})
		mustTake(t, s, "k", "a")
		withDoubt(s, "a")
		e.mu.Lock()
		revoke := &slowRevoke{fakeLeases: s.client.Lease.(fakeLeases), id: etcd.LeaseID(e.granted + 1)}
		e.mu.Unlock()
		s.client.Lease = revoke
		_ = s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: time.Second})
		s.later(time.Now().Add(900*time.Millisecond), func(context.Context) error { // so that others wait for it
			time.Sleep(400 * time.Millisecond)
			return nil
		})
		time.Sleep(1500 * time.Millisecond)
		mustTake(t, s, "k", "b")
		if !slow.once.Load() || !revoke.once.Load() {
			t.Error("nothing was late")
		}
		isAlone(t, s, "b", other)
	})
}

// lateWatch is a line on which what is watched comes late.
type lateWatch struct {
	fakeWatcher
	late time.Duration
}

func (x lateWatch) Watch(ctx context.Context, key string, o ...etcd.OpOption) etcd.WatchChan {
	in, out := x.fakeWatcher.Watch(ctx, key, o...), make(chan etcd.WatchResponse)
	go func() {
		defer close(out)
		for r := range in {
			time.Sleep(x.late)
			select {
			case out <- r:
			case <-ctx.Done():
			}
		}
	}()
	return out
}

// What goes on of a release with MinHold deletes the contender when that is over. Another release with MinHold beside it does not
// keep the lock.
func TestMinHold_besideOneThatIsOver(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		line, line2 := newFakeLine(e), newFakeLine(e)
		slow := &slowTxn{fakeLine: line, there: 6 * time.Second, slow: deletesK}
		s, other := openSession(t, line, slow, func(string, error) {}), openSession(t, line2, line2, func(string, error) {})
		mustTake(t, s, "k", "a")
		line.set("silent", func() fate { return silence })
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := s.Release(short, lockrt.Release{Key: "k", ID: "a", Keep: 200 * time.Millisecond}); err == nil {
			t.Error("it was answered")
		}
		time.Sleep(7 * time.Second)
		line.set("calm", func() fate { return calm })
		for !slow.once.Load() {
			time.Sleep(50 * time.Millisecond)
		}
		err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: time.Minute})
		mustBeTrue(t, err, other)
		endBoth(t, e, s, other)
	})
}
