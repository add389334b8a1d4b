package etcdstore

import (
	"context"
	"errors"
	"log/slog"
	"strings"
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

// The names of contenders are used again. This file has what deletes one by its name while another release may give the name
// back: the next lease of the process must not have it.

// slowDelete is a line on which the first deletion of a key by its name takes its time, on the way there and back.
type slowDelete struct {
	*fakeLine
	there, back time.Duration
	once        atomic.Bool
}

func (x *slowDelete) DeleteRange(
	ctx context.Context, r *pb.DeleteRangeRequest, o ...grpc.CallOption,
) (*pb.DeleteRangeResponse, error) {
	if !strings.Contains(string(r.Key), "/k/") || !x.once.CompareAndSwap(false, true) {
		return x.fakeLine.DeleteRange(ctx, r, o...)
	}
	return takesTime(ctx, x.there, x.back, func(ctx context.Context) (*pb.DeleteRangeResponse, error) {
		return x.fakeLine.DeleteRange(ctx, r)
	})
}

// takesTime makes a request that takes its time, on the way there and back, also when the caller has left.
func takesTime[R any](ctx context.Context, there, back time.Duration, do func(context.Context) (R, error)) (R, error) {
	type answer struct {
		r   R
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		time.Sleep(there)
		r, err := do(context.WithoutCancel(ctx))
		time.Sleep(back)
		answers <- answer{r, err}
	}()
	select {
	case a := <-answers:
		return a.r, a.err
	case <-ctx.Done():
		var none R
		return none, ctx.Err()
	}
}

// openSession is a session at a line, which some of the requests for keys go over.
func openSession(t *testing.T, line *fakeLine, kv pb.KVClient, lost func(string, error)) *session {
	t.Helper()
	store := line.store()
	store.client.KV = etcd.NewKVFromKVClient(kv, nil)
	s, err := store.Open(lockrt.SessionConfig{Namespace: "lock", Logger: slog.New(slog.DiscardHandler), Lost: lost})
	if err != nil {
		t.Fatal(err)
	}
	return s.(*session)
}

// openTwo is two sessions at an etcd, and the line of the first.
func openTwo(t *testing.T, e *fakeEtcd) (s, other *session, line *fakeLine) {
	t.Helper()
	line, line2 := newFakeLine(e), newFakeLine(e)
	return openSession(t, line, line, func(string, error) {}), openSession(t, line2, line2, func(string, error) {}), line
}

func mustTake(t *testing.T, s *session, key, id string) lockrt.Grant {
	t.Helper()
	grant, err := s.Acquire(t.Context(), lockrt.Request{Key: key, ID: id, TTL: 10 * time.Minute, Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

// isAlone checks that a session still believes in its lease of the lock k, and that nobody else gets it. It ends both sessions.
func isAlone(t *testing.T, s *session, id string, other *session) {
	t.Helper()
	time.Sleep(2 * callTime)
	s.mu.Lock()
	believed := s.leases[id] != nil
	s.mu.Unlock()
	_, err := other.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "other", TTL: time.Minute})
	switch {
	case !believed:
		t.Error("it is not held any more")
	case err == nil:
		t.Error("two hold it")
	}
	_ = s.Release(context.Background(), lockrt.Release{Key: "k", ID: id})
	_ = other.Release(context.Background(), lockrt.Release{Key: "k", ID: "other"})
	_ = s.Close(context.Background())
	_ = other.Close(context.Background())
	time.Sleep(time.Hour)
}

// busyJanitor has a chore that takes its time, as a deletion does whose request was lost.
func busyJanitor(s *session) {
	s.later(time.Now(), func(context.Context) error {
		time.Sleep(attemptTime)
		return nil
	})
	time.Sleep(time.Millisecond)
}

// A lease is broken while it is being released.
func TestBreak_whileReleased(t *testing.T) {
	for i := range 4 {
		presumed, lost := i%2 == 0, func(string, error) {}
		if i/2 == 0 { // the program takes its time to hear of it
			lost = func(string, error) { time.Sleep(time.Second) }
		}
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			line := &slowDelete{fakeLine: newFakeLine(e), there: 20 * time.Millisecond, back: 40 * time.Millisecond}
			s := openSession(t, line.fakeLine, line, lost)
			line2 := newFakeLine(e)
			other := openSession(t, line2, line2, func(string, error) {})
			grant := mustTake(t, s, "k", "a")
			time.Sleep(time.Second)
			if presumed {
				s.lose(s.leases["a"].class, presumption{rpctypes.ErrLeaseNotFound})
			}
			busyJanitor(s)
			released := make(chan error, 1)
			go func() { released <- s.Release(context.Background(), lockrt.Release{Key: "k", ID: "a"}) }()
			time.Sleep(5 * time.Millisecond)
			broken := lockrt.Breaking{Key: "k", ID: "a", Fence: lockrt.FenceOf(grant.Epoch), Reason: "test"}
			if err := other.Break(t.Context(), broken); err != nil {
				t.Error(err)
			}
			<-released
			mustTake(t, s, "k", "b")
			isAlone(t, s, "b", other)
		})
	}
}

// A lease whose request may still come has run out, and is released before its contender is deleted.
func TestRelease_runOutWithDoubt(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		s, other, _ := openTwo(t, e)
		mustTake(t, s, "k", "a")
		s.mu.Lock()
		h := s.leases["a"]
		h.doubt = s.ground.generation // as after an answer that was lost
		until := h.until
		s.mu.Unlock()
		time.Sleep(time.Until(until) - time.Second)
		busyJanitor(s)
		time.Sleep(time.Until(until) + time.Millisecond)
		s.endDue()
		if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a"}); err != nil {
			t.Error(err)
		}
		mustTake(t, s, "k", "b")
		isAlone(t, s, "b", other)
	})
}

// A release has had no answer, and another one of the same lease has. The first request comes late.
func TestRelease_againBeforeTheFirstComes(t *testing.T) {
	for there := attemptTime; there < callTime+attemptTime; there += 250 * time.Millisecond {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			line := &slowDelete{fakeLine: newFakeLine(e), there: there}
			s := openSession(t, line.fakeLine, line, func(string, error) {})
			line2 := newFakeLine(e)
			other := openSession(t, line2, line2, func(string, error) {})
			mustTake(t, s, "k", "a")
			busyJanitor(s)
			short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			for ctx := short; ; ctx = t.Context() {
				if err := s.Release(ctx, lockrt.Release{Key: "k", ID: "a"}); err == nil || errors.Is(err, lockrt.ErrLost) {
					break
				}
			}
			mustTake(t, s, "k", "b")
			isAlone(t, s, "b", other)
		})
	}
}

// A release could not be sent, and another one of the same lease could. What goes on of the first is not for the next lease.
func TestRelease_againAfterOneThatWasRefused(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		s, other, line := openTwo(t, e)
		mustTake(t, s, "k", "a")
		line.set("refused", func() fate { return fate{refused: rpctypes.ErrPermissionDenied} })
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		busyJanitor(s)
		if err := s.Release(short, lockrt.Release{Key: "k", ID: "a"}); err == nil {
			t.Error("it was released")
		}
		line.set("calm", func() fate { return calm })
		if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a"}); err != nil {
			t.Error(err)
		}
		mustTake(t, s, "k", "b")
		isAlone(t, s, "b", other)
	})
}

// Two releases of a lease are under way, and the second is faster.
func TestRelease_twoAtATime(t *testing.T) {
	for _, keep := range []time.Duration{0, time.Second} {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			line := &slowDelete{fakeLine: newFakeLine(e), there: 1400 * time.Millisecond}
			s := openSession(t, line.fakeLine, line, func(string, error) {})
			line2 := newFakeLine(e)
			other := openSession(t, line2, line2, func(string, error) {})
			mustTake(t, s, "k", "a")
			first := make(chan error, 1)
			go func() { first <- s.Release(context.Background(), lockrt.Release{Key: "k", ID: "a"}) }()
			time.Sleep(5 * time.Millisecond)
			err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: keep})
			if err != nil && (keep == 0 || !errors.Is(err, lockrt.ErrLost)) { // what the first deletes cannot be kept
				t.Error(err)
			}
			mustTake(t, s, "k", "b")
			<-first
			isAlone(t, s, "b", other)
		})
	}
}
