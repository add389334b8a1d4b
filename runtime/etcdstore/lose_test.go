package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// mayMove has the contenders of all leases of a session under a class of which they may be under another one, too, by moves that
// had no answer.
func mayMove(t *testing.T, s *session) (from, to *class) {
	t.Helper()
	s.mu.Lock()
	for _, h := range s.leases {
		from = h.class
	}
	s.putAside(from)
	s.mu.Unlock()
	to, err := s.class(t.Context(), 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer s.leave(to)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.leases {
		to.users++
		h.maybe = append(h.maybe, trip{to, h.moved})
	}
	return from, to
}

// A contender is under another class than the one that was given up by mistake, and that one has no other users. What MinHold keeps
// stays.
func TestMinHold_otherClass(t *testing.T) {
	for _, aged := range []bool{false, true} {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			s, other, _ := openTwo(t, e)
			mustTake(t, s, "k", "a")
			from, to := mayMove(t, s)
			from.aged = aged
			s.lose(to, presumption{rpctypes.ErrLeaseNotFound})
			time.Sleep(3 * time.Minute)
			if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: 5 * time.Minute}); err != nil {
				t.Errorf("aged: %t: %v", aged, err)
			}
			time.Sleep(4 * time.Minute)
			if _, err := other.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "b", TTL: time.Minute}); !errors.Is(err, lockrt.ErrBusy) {
				t.Errorf("aged: %t: somebody gets it: %v", aged, err)
			}
			time.Sleep(2 * time.Minute)
			if _, err := other.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "b", TTL: time.Minute}); err != nil {
				t.Error(err)
			}
			_ = other.Release(t.Context(), lockrt.Release{Key: "k", ID: "b"})
			for _, s := range []*session{s, other} {
				if err := s.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(time.Minute)
			for _, left := range e.left() {
				t.Errorf("aged: %t: left: %s", aged, left)
			}
		})
	}
}

// etcd has forgotten a class under which contenders may be, and they are under another one. They are not deleted before their
// holders are told, which takes a while if there are many.
func TestLose_toldFirst(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		line, line2 := newFakeLine(e), newFakeLine(e)
		other := openSession(t, line2, line2, func(string, error) {})
		s := openSession(t, line, line, func(id string, _ error) {
			_, err := other.Acquire(context.Background(), lockrt.Request{Key: id, ID: "early " + id, TTL: time.Second})
			if err == nil {
				t.Errorf("%s has another holder before the first is told", id)
			}
			time.Sleep(time.Second)
		})
		for i := range 5 {
			mustTake(t, s, fmt.Sprint(i), fmt.Sprint(i))
		}
		_, to := mayMove(t, s)
		if err := s.revoke(t.Context(), to.id); err != nil { // an operator
			t.Fatal(err)
		}
		s.lose(to, rpctypes.ErrLeaseNotFound)
		time.Sleep(10 * time.Second)
		for i := range 5 {
			mustTake(t, other, fmt.Sprint(i), fmt.Sprint(i))
			_ = other.Release(t.Context(), lockrt.Release{Key: fmt.Sprint(i), ID: fmt.Sprint(i)})
		}
		_ = s.Close(context.Background())
		_ = other.Close(context.Background())
		time.Sleep(time.Minute)
	})
}

// deniesOnce denies a sign of life, and has answers come for a moment only, when another one has been sent.
type deniesOnce struct {
	fakeLeases
	armed *atomic.Bool
}

func (x deniesOnce) KeepAliveOnce(ctx context.Context, id etcd.LeaseID) (*etcd.LeaseKeepAliveResponse, error) {
	x.line.etcd.mu.Lock()
	l := x.line.etcd.leases[int64(id)]
	x.line.etcd.mu.Unlock()
	if l == nil || l.ttl < time.Minute || !x.armed.CompareAndSwap(true, false) {
		return x.fakeLeases.KeepAliveOnce(ctx, id)
	}
	began := time.Now()
	x.line.set("a moment of answers", func() fate {
		if d := time.Since(began); d > hedgeTime-10*time.Millisecond && d < hedgeTime+40*time.Millisecond || d > 8*time.Second {
			return calm
		}
		return silence
	})
	return nil, rpctypes.ErrLeaseNotFound
}

// Of two signs of life one is denied, and the other one is acknowledged. The class lives, whatever comes of the first.
func TestSignOfLife_oneOfTwoDenied(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		line := newFakeLine(newFakeEtcd())
		told := make(chan error, 1)
		s := openSession(t, line, line, func(_ string, reason error) { told <- reason })
		leases := deniesOnce{fakeLeases{line: line}, new(atomic.Bool)}
		s.client.Lease = leases
		mustTake(t, s, "k", "a")
		s.mu.Lock()
		c := s.leases["a"].class
		s.mu.Unlock()
		leases.armed.Store(true)
		time.Sleep(3 * time.Minute)
		if leases.armed.Load() || c.isOver() {
			t.Fatal("it is over, or nothing was denied")
		}
		if err := s.revoke(t.Context(), c.id); err != nil { // an operator
			t.Fatal(err)
		}
		if err := <-told; !errors.Is(err, errForgotten) {
			t.Error(err)
		}
		_ = s.Close(context.Background())
		time.Sleep(time.Hour)
	})
}

// The key of a lock has been deleted by hand when a look reads it, and before that is taken in its class is given up by mistake.
func TestCheck_goneAndPresumed(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		line := newFakeLine(newFakeEtcd())
		s := openSession(t, line, line, func(string, error) {})
		mustTake(t, s, "k", "a")
		mustTake(t, s, "other", "b")
		s.mu.Lock()
		h := s.leases["a"]
		s.mu.Unlock()
		r := &renewing{s: s}
		r.begin([]lockrt.HeldLease{{Key: "k", ID: "a"}})
		if _, err := s.client.Delete(t.Context(), h.me); err != nil {
			t.Fatal(err)
		}
		s.lose(h.class, presumption{rpctypes.ErrLeaseNotFound})
		if r.read(t.Context()); !errors.Is(r.errs[0], lockrt.ErrLost) {
			t.Errorf("the look finds %v", r.errs[0])
		}
		if err := s.Release(t.Context(), lockrt.Release{Key: "other", ID: "b"}); err != nil {
			t.Error(err)
		}
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		for _, left := range line.etcd.left() {
			t.Errorf("left: %s", left)
		}
	})
}
