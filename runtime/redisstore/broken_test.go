package redisstore

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// breakOwner breaks the lease that holds the lock, from another session.
func (r *rig) breakOwner(s *session, force bool) error {
	id, epoch := r.owner()
	return s.Break(r.ctx, lockrt.Breaking{Key: "k", ID: id, Fence: lockrt.FenceOf(epoch), Reason: "test", Force: force})
}

func (r *rig) hold(s *session, id string) lockrt.Grant {
	r.t.Helper()
	g, err := s.Acquire(r.ctx, lockrt.Request{Key: "k", ID: id, TTL: time.Hour})
	if err != nil {
		r.t.Fatal(err)
	}
	return g
}

// The lock goes on when the session has told its Locker, and by itself: nobody releases the lease here.
func TestSession_brokenLeaseIsGivenBack(t *testing.T) {
	r := newRig(t)
	s, losses := r.newSession(Config{})
	other, _ := r.newSession(Config{})
	r.hold(s, "a")
	next := r.wait(other, "b", time.Hour)
	if err := r.breakOwner(other, false); err != nil {
		t.Fatal(err)
	}
	if id := <-losses; id != "a" {
		t.Errorf("the loss of %q was told", id)
	}
	if a := <-next; a.err != nil {
		t.Error(a.err)
	}
	r.wantOwner("b")
	if err := other.Break(r.ctx, lockrt.Breaking{Key: "k", ID: "a", Fence: 1}); !errors.Is(err, lockrt.ErrNotHeld) {
		t.Errorf("break of a lease that is over: %v", err)
	}
	r.wantOwner("b")
}

// The push of the loss does not arrive: a renewal finds the mark.
func TestSession_renewalOfABrokenLease(t *testing.T) {
	r := newRig(t)
	s, losses := r.newSession(Config{})
	g := r.hold(s, "a")
	r.deaf(s)
	r.want("break", r.brkLease("a", g.Epoch, "test", false), 1)
	errs := s.Renew(r.ctx, []lockrt.Renewal{{Key: "k", ID: "a", TTL: time.Hour}})
	if !errors.Is(errs[0], lockrt.ErrLost) {
		t.Errorf("the renewal: %v, want ErrLost", errs[0])
	}
	if id := <-losses; id != "a" {
		t.Errorf("the loss of %q was told", id)
	}
	testsync.Eventually(t, "the lock goes on", func() bool { id, _ := r.owner(); return id == "" })
}

// deaf makes what is published to a session arrive nowhere.
func (r *rig) deaf(s *session) {
	r.t.Helper()
	value := r.client.Get(r.ctx, r.keys.lock).Val()
	id, epoch, since, ttl := "", "", "", ""
	if _, err := fmt.Sscan(value, &id, &epoch, &since, &ttl); err != nil {
		r.t.Fatal(err)
	}
	value = fmt.Sprint(id, " ", epoch, " ", since, " ", ttl, " lockgen:nowhere node")
	if err := r.client.Set(r.ctx, r.keys.lock, value, time.Hour).Err(); err != nil {
		r.t.Fatal(err)
	}
}

// One that waits, and has not learnt that it was granted the lock, hears of the break instead.
func TestSession_brokenBeforeItsGrantWasKnown(t *testing.T) {
	r := newRig(t)
	s, losses := r.newSession(Config{})
	r.acquire("holder", "p", 0)
	done := r.wait(s, "w", time.Hour)
	r.push(s, "lost w 8 lock:{k} broken by somebody: test")
	if a := <-done; !errors.Is(a.err, lockrt.ErrLost) {
		t.Errorf("%+v, want ErrLost", a)
	}
	if id := <-losses; id != "w" {
		t.Errorf("the loss of %q was told", id)
	}
	testsync.Eventually(t, "it has left the queue", func() bool {
		return r.client.ZCard(r.ctx, r.keys.queue).Val() == 0
	})
	r.wantOwner("holder")
}

// The answer to its own question says so, too.
func TestSession_askedForABrokenLease(t *testing.T) {
	for _, wait := range []time.Duration{0, time.Minute} {
		r := newRig(t)
		s, _ := r.newSession(Config{})
		g := r.hold(s, "a")
		r.deaf(s)
		r.want("break", r.brkLease("a", g.Epoch, "test", false), 1)
		_, err := s.Acquire(r.ctx, lockrt.Request{Key: "k", ID: "a", TTL: time.Hour, Wait: wait})
		if !errors.Is(err, lockrt.ErrLost) || errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("wait %s: %v, want ErrLost", wait, err)
		}
		testsync.Eventually(t, "the lock goes on", func() bool { id, _ := r.owner(); return id == "" })
	}
}

// Break names what it saw: the answer to the first call is lost, the session repeats it, and whoever came after keeps
// the lock.
func TestSession_breakWhoseAnswerIsLost(t *testing.T) {
	c := newBatchRig(t)
	r := c.rig
	if err := c.s.client.ScriptLoad(r.ctx, breakScript.Source).Err(); err != nil {
		t.Fatal(err)
	}
	r.acquire("a", "p", 0)
	r.acquire("b", "q", rigLiveness)
	id, epoch := r.owner()
	c.lossy.lose(1)
	b := lockrt.Breaking{Key: "k", ID: id, Fence: lockrt.FenceOf(epoch), Reason: "test", Force: true}
	if err := c.s.Break(r.ctx, b); err != nil {
		t.Errorf("the break, which was done: %v", err)
	}
	r.wantOwner("b")
	r.want("renewal of the next", r.renew("b", rigTTL), 1)
}

// The subscription was cut while the lease was broken: the session asks when it is subscribed again.
func TestSession_heldLeasesAreAskedForAfterACut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var granted atomic.Bool // the session may ask about held leases as soon as it is subscribed
	s, losses := r.newSession(Config{}, func(cfg *lockrt.SessionConfig) {
		cfg.Held = func() []lockrt.HeldLease {
			if !granted.Load() {
				return nil
			}
			return []lockrt.HeldLease{{Key: "k", ID: "a"}, {Key: "gone", ID: "g"}, {Key: "kept", ID: "h"}}
		}
	})
	g := r.hold(s, "a")
	if _, err := s.Acquire(r.ctx, lockrt.Request{Key: "kept", ID: "h", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	granted.Store(true)
	r.deaf(s)
	r.want("break", r.brkLease("a", g.Epoch, "test", false), 1)
	if err := r.client.ClientKillByFilter(r.ctx, "TYPE", "pubsub").Err(); err != nil {
		t.Fatal(err)
	}
	lost := map[string]bool{}
	for !lost["a"] || !lost["g"] {
		lost[<-losses] = true
	}
	if lost["h"] {
		t.Error("a lease that holds its lock was said to be lost")
	}
	testsync.Eventually(t, "the broken lock goes on", func() bool { id, _ := r.owner(); return id == "" })
}

func TestSession_Check(t *testing.T) {
	r := newRig(t)
	s, losses := r.newSession(Config{})
	g := r.hold(s, "a")
	leases := []lockrt.HeldLease{{Key: "k", ID: "a"}, {Key: "k", ID: "b"}, {Key: "free", ID: "a"}}
	check := func() (errs []error) { return s.Check(r.ctx, leases) }
	if errs := check(); errs[0] != nil || !errors.Is(errs[1], lockrt.ErrLost) || !errors.Is(errs[2], lockrt.ErrLost) {
		t.Errorf("%v, want the first to hold alone", errs)
	}
	r.deaf(s)
	r.want("break", r.brkLease("a", g.Epoch, "test", false), 1)
	if errs := check(); !errors.Is(errs[0], lockrt.ErrLost) || <-losses != "a" {
		t.Errorf("a broken lease: %v", errs[0])
	}
	// A replica does not know.
	if err := r.client.Do(r.ctx, "REPLICAOF", "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	for i, err := range check() {
		if err == nil || errors.Is(err, lockrt.ErrLost) {
			t.Errorf("lease %d on a replica: %v, want an error that leaves it open", i, err)
		}
	}
	if err := r.client.Do(r.ctx, "REPLICAOF", "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
}
