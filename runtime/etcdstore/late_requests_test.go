package etcdstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Requests of a lease that has ended may come when its lock has gone on. This file has what they must not do then: end what
// another release has kept, end the generation of what comes next, and put a contender that nobody owns.

// slowTxn is a line on which the first transaction of a kind takes its time, on the way there and back.
type slowTxn struct {
	*fakeLine
	there, back time.Duration
	slow        func(*pb.TxnRequest) bool
	once        atomic.Bool
}

func (x *slowTxn) Txn(ctx context.Context, r *pb.TxnRequest, o ...grpc.CallOption) (*pb.TxnResponse, error) {
	if !x.slow(r) || !x.once.CompareAndSwap(false, true) {
		return x.fakeLine.Txn(ctx, r, o...)
	}
	return takesTime(ctx, x.there, x.back, func(ctx context.Context) (*pb.TxnResponse, error) { return x.fakeLine.Txn(ctx, r) })
}

// putsK and deletesK are transactions that put a contender for the lock k, and that delete one.
func putsK(r *pb.TxnRequest) bool {
	return slices.ContainsFunc(r.Success, func(op *pb.RequestOp) bool {
		return strings.Contains(string(op.GetRequestPut().GetKey()), "/k/")
	})
}

func deletesK(r *pb.TxnRequest) bool {
	return slices.ContainsFunc(r.Success, func(op *pb.RequestOp) bool {
		return strings.Contains(string(op.GetRequestDeleteRange().GetKey()), "/k/")
	})
}

// withDoubt has the session believe that a request for a lease may still come, as after an answer that was lost.
func withDoubt(s *session, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases[id].doubt = s.ground.generation
}

// endBoth closes two sessions, and checks that they leave nothing.
func endBoth(t *testing.T, e *fakeEtcd, all ...*session) {
	t.Helper()
	for _, s := range all {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	time.Sleep(time.Minute)
	for _, left := range e.left() {
		t.Errorf("left: %s", left)
	}
}

// A lease has run out, and its contender is not deleted yet when it is released with MinHold: the deletion would end what is
// kept.
func TestMinHold_runOut(t *testing.T) {
	for _, doubt := range []bool{false, true} {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			line, line2 := newFakeLine(e), newFakeLine(e)
			s, other := openSession(t, line, line, func(string, error) {}), openSession(t, line2, line2, func(string, error) {})
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

// A release ends the generation of a request that may still come. An attempt at it that comes late does not end the next one.
func TestRelease_lateEndOfGeneration(t *testing.T) {
	for _, keep := range []time.Duration{0, time.Second} {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			line := newFakeLine(e)
			slow := &slowTxn{fakeLine: line, there: 8 * time.Second, slow: func(r *pb.TxnRequest) bool {
				return deletesK(r) || keep > 0 && len(r.Compare) == 1 && putsK(r)
			}}
			s := openSession(t, line, slow, func(string, error) {})
			mustTake(t, s, "other", "b")
			mustTake(t, s, "k", "a")
			withDoubt(s, "a")
			if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: keep}); err != nil {
				t.Error(err)
			}
			mustTake(t, s, "k", "c")
			g := s.standing()
			time.Sleep(slow.there)
			if !slow.once.Load() {
				t.Fatal("nothing was late")
			}
			e.mu.Lock()
			own := e.keys[s.space.generation(s.id)]
			e.mu.Unlock()
			if own == nil || own.ModRevision != g.generation {
				t.Errorf("keep %s: the generation has ended", keep)
			}
			for key, id := range map[string]string{"other": "b", "k": "c"} {
				if err := s.Release(t.Context(), lockrt.Release{Key: key, ID: id}); err != nil {
					t.Error(err)
				}
			}
			endBoth(t, e, s)
		})
	}
}

// Somebody deletes the contender of a lease for which another request may still come. What it would put is nobody's.
func TestCheck_deletedWithDoubt(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		line, line2 := newFakeLine(e), newFakeLine(e)
		slow := &slowTxn{fakeLine: line, there: 20 * time.Second, slow: putsK}
		s, other := openSession(t, line, slow, func(string, error) {}), openSession(t, line2, line2, func(string, error) {})
		mustTake(t, s, "other", "b") // the class lives on
		mustTake(t, s, "k", "a")
		s.mu.Lock()
		h := *s.leases["a"]
		s.mu.Unlock()
		if h.doubt == 0 {
			t.Fatal("no request may come late")
		}
		if _, err := s.client.Delete(t.Context(), h.me); err != nil {
			t.Fatal(err)
		}
		if errs := s.Check(t.Context(), []lockrt.HeldLease{{Key: "k", ID: "a"}}); !errors.Is(errs[0], lockrt.ErrLost) {
			t.Errorf("it is not lost: %v", errs[0])
		}
		time.Sleep(time.Minute)
		if _, err := other.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "c", TTL: time.Minute}); err != nil {
			t.Errorf("somebody has it: %v", err)
		}
		_ = other.Release(t.Context(), lockrt.Release{Key: "k", ID: "c"})
		_ = s.Release(t.Context(), lockrt.Release{Key: "other", ID: "b"})
		endBoth(t, e, s, other)
	})
}

// A place in a queue whose caller has left goes to one with another TTL, and so to another lease of etcd. That one is lost, and
// then another request for the place comes, under the first.
func TestLose_doubtUnderAnotherClass(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		line, line2 := newFakeLine(e), newFakeLine(e)
		slow := &slowTxn{fakeLine: line, there: 20 * time.Second, slow: putsK}
		s, other := openSession(t, line, slow, func(string, error) {}), openSession(t, line2, line2, func(string, error) {})
		mustTake(t, s, "other", "b") // the first class lives on
		mustTake(t, other, "k", "first")
		waits, end := context.WithTimeout(t.Context(), 5*time.Second)
		defer end()
		req := lockrt.Request{Key: "k", ID: "a", TTL: 10 * time.Minute, Wait: time.Minute, Keep: func() bool { return true }}
		if _, err := s.Acquire(waits, req); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if err := other.Release(t.Context(), lockrt.Release{Key: "k", ID: "first"}); err != nil {
			t.Error(err)
		}
		req.TTL = time.Minute
		if _, err := s.Acquire(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		h := *s.leases["a"]
		s.mu.Unlock()
		if h.doubt == 0 {
			t.Fatal("no request may come late")
		}
		if err := s.revoke(t.Context(), h.class.id); err != nil { // an operator
			t.Fatal(err)
		}
		s.lose(h.class, rpctypes.ErrLeaseNotFound)
		time.Sleep(time.Minute)
		if _, err := other.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "c", TTL: time.Minute}); err != nil {
			t.Errorf("somebody has it: %v", err)
		}
		_ = other.Release(t.Context(), lockrt.Release{Key: "k", ID: "c"})
		_ = s.Release(t.Context(), lockrt.Release{Key: "other", ID: "b"})
		endBoth(t, e, s, other)
	})
}

// A place in a queue that its caller has left to the next one becomes the first, and is broken. Another request for it comes
// after that.
func TestBreak_placeWithDoubt(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		line, line2 := newFakeLine(e), newFakeLine(e)
		slow := &slowTxn{fakeLine: line, there: 20 * time.Second, slow: putsK}
		s, other := openSession(t, line, slow, func(string, error) {}), openSession(t, line2, line2, func(string, error) {})
		mustTake(t, s, "other", "b") // the class lives on
		mustTake(t, other, "k", "first")
		waits, end := context.WithTimeout(t.Context(), 5*time.Second)
		defer end()
		req := lockrt.Request{Key: "k", ID: "a", TTL: 10 * time.Minute, Wait: time.Minute, Keep: func() bool { return true }}
		if _, err := s.Acquire(waits, req); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		s.mu.Lock()
		place := s.places["a"]
		s.mu.Unlock()
		if place == nil || place.doubt == 0 {
			t.Fatal("there is no place for which a request may come late")
		}
		if err := other.Release(t.Context(), lockrt.Release{Key: "k", ID: "first"}); err != nil {
			t.Error(err)
		}
		g := s.standing()
		broken := lockrt.Breaking{Key: "k", ID: "a", Fence: lockrt.FenceOf(g.epoch(entry{}, place.rev)), Reason: "test"}
		if err := other.Break(t.Context(), broken); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if _, err := other.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "c", TTL: time.Minute}); err != nil {
			t.Errorf("somebody has it: %v", err)
		}
		_ = other.Release(t.Context(), lockrt.Release{Key: "k", ID: "c"})
		if _, err := s.Acquire(t.Context(), req); err != nil {
			t.Errorf("the next caller does not get it: %v", err)
		}
		_ = s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a"})
		_ = s.Release(t.Context(), lockrt.Release{Key: "other", ID: "b"})
		endBoth(t, e, s, other)
	})
}
