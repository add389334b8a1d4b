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

// withLatePut opens two sessions. The first request of the first one that puts a contender for the lock k comes late. It has another
// lock of the same TTL, so that its class lives on.
func withLatePut(t *testing.T, e *fakeEtcd, late time.Duration) (s, other *session, line *fakeLine) {
	t.Helper()
	line, line2 := newFakeLine(e), newFakeLine(e)
	slow := &slowTxn{fakeLine: line, there: late, slow: putsK}
	s, other = openSession(t, line, slow, func(string, error) {}), openSession(t, line2, line2, func(string, error) {})
	mustTake(t, s, "other", "b")
	return s, other, line
}

// leavePlace has a session leave a place in the queue of the lock k to the next caller of the request that it returns. Another
// request for it comes late. It is the first.
func leavePlace(t *testing.T, s, other *session) (lockrt.Request, *queued) {
	t.Helper()
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
	return req, place
}

// mustBeFree checks that a session gets the lock k at once, and releases it.
func mustBeFree(t *testing.T, s *session) {
	t.Helper()
	if _, err := s.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "free", TTL: time.Minute}); err != nil {
		t.Errorf("somebody has it: %v", err)
	}
	_ = s.Release(t.Context(), lockrt.Release{Key: "k", ID: "free"})
}

// endLatePut ends what withLatePut began.
func endLatePut(t *testing.T, e *fakeEtcd, s, other *session) {
	t.Helper()
	if err := s.Release(t.Context(), lockrt.Release{Key: "other", ID: "b"}); err != nil {
		t.Error(err)
	}
	endBoth(t, e, s, other)
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
		s, other, _ := withLatePut(t, e, 20*time.Second)
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
		mustBeFree(t, other)
		endLatePut(t, e, s, other)
	})
}

// A place in a queue whose caller has left goes to one with another TTL, and so to another lease of etcd. That one is lost, and
// then another request for the place comes, under the first.
func TestLose_doubtUnderAnotherClass(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		s, other, _ := withLatePut(t, e, 20*time.Second)
		req, _ := leavePlace(t, s, other)
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
		mustBeFree(t, other)
		endLatePut(t, e, s, other)
	})
}

// A place in a queue that its caller has left to the next one becomes the first, and is broken. Another request for it comes
// after that.
func TestBreak_placeWithDoubt(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		s, other, _ := withLatePut(t, e, 20*time.Second)
		req, place := leavePlace(t, s, other)
		g := s.standing()
		broken := lockrt.Breaking{Key: "k", ID: "a", Fence: lockrt.FenceOf(g.epoch(entry{}, place.rev)), Reason: "test"}
		if err := other.Break(t.Context(), broken); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		mustBeFree(t, other)
		if _, err := s.Acquire(t.Context(), req); err != nil {
			t.Errorf("the next caller does not get it: %v", err)
		}
		_ = s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a"})
		endLatePut(t, e, s, other)
	})
}

// The write of a generation had no answer, and comes late.
func TestGeneration_late(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		line := newFakeLine(e)
		var s *session
		slow := &slowTxn{fakeLine: line, there: 8 * time.Second, slow: func(r *pb.TxnRequest) bool {
			return slices.ContainsFunc(r.Success, func(op *pb.RequestOp) bool {
				return string(op.GetRequestPut().GetKey()) == s.space.generation(s.id)
			})
		}}
		s = openSession(t, line, slow, func(string, error) {})
		mustTake(t, s, "k", "a")
		g := s.standing()
		time.Sleep(slow.there)
		if !slow.once.Load() {
			t.Fatal("nothing was late")
		}
		e.mu.Lock()
		own := e.keys[s.space.generation(s.id)]
		e.mu.Unlock()
		if own == nil || own.ModRevision != g.generation {
			t.Errorf("the generation has ended")
		}
		_ = s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a"})
		endBoth(t, e, s)
	})
}

// slowAfter is a line on which the answer to the first transaction of a kind is lost, and all others are late from then on.
type slowAfter struct {
	*slowTxn
	back time.Duration
}

func (x slowAfter) Txn(ctx context.Context, r *pb.TxnRequest, o ...grpc.CallOption) (*pb.TxnResponse, error) {
	if x.slow(r) && !x.once.Load() {
		x.set("slow", func() fate { return fate{back: x.back} })
	}
	return x.slowTxn.Txn(ctx, r, o...)
}

// The answer to the first write of a generation is lost, and others take half of the time that there is for two.
func TestGeneration_lateAnswers(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		line, line2 := newFakeLine(e), newFakeLine(e)
		other := openSession(t, line2, line2, func(string, error) {})
		mustTake(t, other, "other", "b") // the base is there
		var s *session
		x := slowAfter{&slowTxn{fakeLine: line, back: time.Minute, slow: func(r *pb.TxnRequest) bool {
			return slices.ContainsFunc(r.Success, func(op *pb.RequestOp) bool {
				return string(op.GetRequestPut().GetKey()) == s.space.generation(s.id)
			})
		}}, callTime/2 + 100*time.Millisecond}
		s = openSession(t, line, x, func(string, error) {})
		began := time.Now()
		for { // as one who tries again
			_, err := s.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "a", TTL: 10 * time.Minute, Wait: time.Minute})
			if err == nil {
				break
			}
			if time.Since(began) > time.Minute {
				t.Fatalf("after %s: %v", time.Since(began), err)
			}
			time.Sleep(time.Second)
		}
		line.set("calm", func() fate { return calm })
		if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a"}); err != nil {
			t.Error(err)
		}
		endLatePut(t, e, other, s)
	})
}

// A release has no answer, and a second one has. Another request for the lease comes before the first goes on.
func TestRelease_againWithDoubt(t *testing.T) {
	for _, keep := range []time.Duration{0, 500 * time.Millisecond} {
		for late := 1700 * time.Millisecond; late < 4*time.Second; late += 200 * time.Millisecond {
			testsync.Bubble(t, func(t *testing.T) {
				newLimits()
				defer newLimits()
				e := newFakeEtcd()
				s, other, line := withLatePut(t, e, late)
				mustTake(t, s, "k", "a")
				line.set("silent", func() fate { return silence })
				short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				if err := s.Release(short, lockrt.Release{Key: "k", ID: "a", Keep: keep}); err == nil {
					t.Fatal("it was answered")
				}
				time.Sleep(50 * time.Millisecond) // it goes on, and what it sends is lost
				line.set("calm", func() fate { return calm })
				if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: max(keep-150*time.Millisecond, 0)}); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * time.Minute)
				mustBeFree(t, other)
				endLatePut(t, e, s, other)
			})
		}
	}
}

// A contender has moved to a class that is lost before the answer is taken in. Another request for the lease may still come,
// under the first.
func TestLose_movedWithDoubt(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		s, other, _ := withLatePut(t, e, 20*time.Second)
		mustTake(t, s, "k", "a")
		s.mu.Lock()
		h := s.leases["a"]
		s.mu.Unlock()
		if h.doubt == 0 {
			t.Fatal("no request may come late")
		}
		to, err := s.class(t.Context(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		from := h.moved
		h.moving = append(h.moving, trip{to, from})
		s.mu.Unlock()
		// The move is made, and its class is lost by an operator: the key is gone with it. The loss is taken in by the look.
		r := &renewing{s: s}
		r.begin([]lockrt.HeldLease{{Key: "k", ID: "a"}})
		if err := s.revoke(t.Context(), to.id); err != nil {
			t.Fatal(err)
		}
		if _, err := s.client.Delete(t.Context(), h.me); err != nil {
			t.Fatal(err)
		}
		s.lose(to, rpctypes.ErrLeaseNotFound)
		if _, err := s.settleMove(&r.held[0], move{to.id, h.rev + 1, h.ttl}); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("it is not lost: %v", err)
		}
		time.Sleep(time.Minute)
		mustBeFree(t, other)
		endLatePut(t, e, s, other)
	})
}
