package etcdstore

import (
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Whether a contender may go to a class is decided by what is known when it goes.
func TestMayMove(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*class, *held)
		may    bool
	}{
		"as it is":                            {func(*class, *held) {}, true},
		"the class is over":                   {func(c *class, _ *held) { c.over = true }, false},
		"it is aged":                          {func(c *class, _ *held) { c.aged = true }, false},
		"the lease is believed in for longer": {func(c *class, h *held) { h.until = c.alive.Add(c.length + 1) }, false},
		"the contender was changed meanwhile": {func(_ *class, h *held) { h.moved = 2 }, false},
		"the lease has a longer TTL":          {func(_ *class, h *held) { h.ttl = time.Hour }, false},
	} {
		testsync.Bubble(t, func(t *testing.T) {
			s, _ := flowing(t)
			key := classFor(10 * time.Second)
			c := &class{key: key, length: key, alive: time.Now(), tried: make(chan struct{})}
			h := &held{id: "a", class: &class{aged: true}, ttl: 10 * time.Second, until: time.Now().Add(time.Second)}
			s.leases[h.id] = h
			r := &renewing{
				s: s, held: []held{*h}, errs: make([]error, 1), done: make([]bool, 1), ttls: make([]time.Duration, 1), aged: true,
			}
			tt.change(c, h)
			if _, may := r.mayMove(0, trip{c, 1}); may != tt.may {
				t.Errorf("%s: it may be moved: %t", name, may)
			}
		})
	}
}

// A renewal that waits for its lease to be rehoused ends with the session, whose rehousing is over.
func TestAwaitRehousing_closed(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		s, _ := flowing(t)
		h := &held{id: "a", class: &class{aged: true}, ttl: 10 * time.Second}
		s.leases[h.id] = h
		if err := s.gate.Close(t.Context(), s.gate.Stopped); err != nil {
			t.Fatal(err)
		}
		r := &renewing{s: s, held: []held{*h}, errs: make([]error, 1), done: make([]bool, 1)}
		if err := r.awaitRehousing(t.Context()); !errors.Is(err, lockrt.ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}

// An answer to a move says that no earlier one can move the contender any more.
func TestAdopt_answered(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		e := newFakeEtcd()
		s, _ := flowing(t)
		s.client.KV = etcd.NewKVFromKVClient(newFakeLine(e), nil)
		old, next := e.grant(10), e.grant(20)
		me := s.space.lock("k") + "me"
		put := etcd.OpPut(me, s.entry(lockrt.Request{}).text(), etcd.WithLease(old.ID))
		if _, err := s.client.Txn(t.Context()).Then(put).Commit(); err != nil {
			t.Fatal(err)
		}
		q := &question{me: me, class: &class{id: next.ID}, loose: loose{moves: true}}
		for _, done := range []bool{true, true, false} {
			r, err := s.client.Get(t.Context(), me)
			if err != nil {
				t.Fatal(err)
			}
			a := &answer{mine: r.Kvs[0]}
			before := r.Header.Revision
			if !done { // somebody changes it meanwhile
				q.moves = true
				a.mine.ModRevision--
			}
			if ok, err := s.adopt(t.Context(), q, a); ok != done || err != nil {
				t.Errorf("adopted: %t, %v", ok, err)
			}
			if q.moves {
				t.Error("it may be moved")
			}
			if done && etcd.LeaseID(a.mine.Lease) != next.ID {
				t.Errorf("it is under %d", a.mine.Lease)
			}
			e.mu.Lock()
			if e.revision > before+1 {
				t.Errorf("revision %d, was %d", e.revision, before)
			}
			e.mu.Unlock()
		}
	})
}

// Whoever holds the lock has to look at what is there, and not only whether that has changed.
func TestUnchanged_granted(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		s, _ := flowing(t) // whose servers answer no transaction
		mine := &mvccpb.KeyValue{Key: []byte("p/k/me"), CreateRevision: 2, ModRevision: 2}
		w := &waiting{s: s, q: &question{me: string(mine.Key)}, before: mine, a: answer{mine: mine, head: mine}}
		if same, err := w.unchanged(t.Context()); same || err != nil {
			t.Errorf("unchanged: %t, %v", same, err)
		}
	})
}

// A move has brought a contender to a class that was given up by mistake meanwhile. What MinHold keeps is not revoked.
func TestSettleMove_classGivenUpByMistake(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		s, _ := flowing(t)
		from := &class{id: 1, gone: make(chan struct{}), tried: make(chan struct{}), users: 1}
		to := &class{id: 2, gone: make(chan struct{}), tried: make(chan struct{}), users: 1}
		h := &held{id: "a", key: "k", me: "p/k/me", class: from, ttl: time.Minute, until: time.Now().Add(time.Minute), moving: []trip{{to, 1}}}
		s.every[from.id], s.every[to.id], s.leases[h.id] = from, to, h
		s.ends.Set(h, h.until)
		defer func() { s.telling.Close(time.Now()) }()
		told := make(chan error, 1)
		s.Lost = func(_ string, reason error) { told <- reason }
		s.lose(to, presumption{rpctypes.ErrLeaseNotFound})
		known := *h
		if _, err := s.settleMove(&known, move{to.id, 2, h.ttl}); !errors.Is(err, errPresumed) {
			t.Errorf("it is moved: %v", err)
		}
		if err := <-told; !errors.Is(err, errPresumed) {
			t.Errorf("its holder is told %v", err)
		}
		s.endMove(h.id, trip{to, 1}, false)
		if s.chores.Len() == 0 {
			t.Fatal("nobody ends it")
		}
		if _, at := s.chores.First(); at.Before(h.until) {
			t.Errorf("it is ended %s before its time", time.Until(at))
		}
	})
}

// Who waits for a sign of life of a class that is given up by mistake hears what its holders hear. It is not revoked while
// something is being released.
func TestLose_presumed(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		s, _ := flowing(t)
		c := &class{id: 1, length: time.Minute, gone: make(chan struct{}), tried: make(chan struct{}), users: 1}
		time.AfterFunc(time.Second, func() { s.lose(c, presumption{rpctypes.ErrLeaseNotFound}) })
		if err := s.awaitLife(t.Context(), c, time.Now().Add(time.Second)); !errors.Is(err, errPresumed) {
			t.Errorf("%v", err)
		}
		s.leave(c)
		s.releasing++
		if err := s.revokeLost(t.Context(), c); !errors.Is(err, errReleasing) {
			t.Errorf("%v", err)
		}
	})
}
