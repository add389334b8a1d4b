package redisstore

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// newSession opens a session on the rig's server and waits until it has learnt that it is subscribed. The losses that
// it hears of arrive on the channel.
func (r *rig) newSession(cfg Config, change ...func(*lockrt.SessionConfig)) (*session, <-chan string) {
	r.t.Helper()
	losses := make(chan string, 100)
	sessCfg := lockrt.SessionConfig{
		Namespace: "lock", Node: "node", Logger: slog.New(slog.DiscardHandler),
		Lost: func(id string, _ error) { testsync.Offer(losses, id) },
	}
	for _, f := range change {
		f(&sessCfg)
	}
	opened, err := New(r.client, cfg).Open(sessCfg)
	if err != nil {
		r.t.Fatal(err)
	}
	s := opened.(*session)
	r.t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			r.t.Errorf("close: %v", err)
		}
	})
	testsync.Eventually(r.t, "the session is subscribed", func() bool { return len(r.client.PubSubChannels(r.ctx, s.channel).Val()) == 1 })
	r.push(s, "nothing")
	return s, losses
}

type acquired struct {
	grant lockrt.Grant
	err   error
}

// wait starts an Acquire and returns when it stands in the queue.
func (r *rig) wait(s *session, id string, ttl time.Duration) <-chan acquired {
	r.t.Helper()
	return r.waitUntil(r.ctx, s, id, ttl)
}

// waitUntil is wait for one that gives up when ctx ends.
func (r *rig) waitUntil(ctx context.Context, s *session, id string, ttl time.Duration) <-chan acquired {
	r.t.Helper()
	done := make(chan acquired, 1)
	go func() {
		g, err := s.Acquire(ctx, lockrt.Request{Key: "k", ID: id, TTL: ttl, Wait: lockrt.Forever})
		done <- acquired{g, err}
	}()
	testsync.Eventually(r.t, id+" is in the queue", func() bool { return r.client.ZScore(r.ctx, r.keys.queue, id).Err() == nil })
	return done
}

// push publishes to a session and waits until it has read that: another push, the grant of a waiter of ours, is behind
// it on the same connection.
func (r *rig) push(s *session, payload string) {
	r.t.Helper()
	mark := s.enlist("mark", r.keys, false)
	defer s.delist("mark", mark)
	for _, text := range []string{payload, "grant mark 1 1 1"} {
		if err := r.client.Publish(r.ctx, s.channel, text).Err(); err != nil {
			r.t.Fatal(err)
		}
	}
	select {
	case <-mark.grants:
	case <-r.ctx.Done():
		r.t.Fatal("the push was not read")
	}
}

// The push of a grant was under way for longer than the lease; meanwhile the waiter was told "busy" and stands in the
// queue again, under the same id. What it was once given is nothing any more: to renew it by its id would make a lease
// with the epoch of long ago of the next grant.
func TestSession_pushOlderThanItsLease(t *testing.T) {
	r := newRig(t)
	s, _ := r.newSession(Config{})
	r.acquire("holder", "p", 0)
	const ttl = time.Minute
	done := r.wait(s, "w", ttl)
	since := r.client.Time(r.ctx).Val().Add(-2 * ttl).UnixMicro()
	r.push(s, fmt.Sprintf("grant w %d %d %d", since, since, ttl.Milliseconds()))
	// Whoever asks again asks before this: the release that follows is what grants.
	select {
	case a := <-done:
		t.Fatalf("a grant whose lease is over since %s was believed: %+v", ttl, a)
	default:
	}
	r.release("holder", 0)
	a := <-done
	if a.err != nil || a.grant.Epoch != r.wantOwner("w") {
		t.Errorf("granted %+v, want the owner's epoch", a)
	}
}

// A push that is not late is used as it is: the two-command path depends on it.
func TestSession_pushIsTheGrant(t *testing.T) {
	r := newRig(t)
	s, _ := r.newSession(Config{})
	before := time.Now()
	r.acquire("holder", "p", 0)
	done := r.wait(s, "w", time.Minute)
	calls := r.scriptCalls()
	if err := releaseScript.Run(r.ctx, r.client, r.keys.alone(), rigRetention, "holder").Err(); err != nil {
		t.Fatal(err)
	}
	a := <-done
	if a.err != nil || a.grant.Epoch != r.wantOwner("w") {
		t.Fatalf("granted %+v", a)
	}
	if a.grant.Start.Before(before) || a.grant.Start.After(time.Now()) {
		t.Errorf("the lease is counted from %s, the test runs since %s", a.grant.Start, before)
	}
	if n := r.scriptCalls() - calls; n != 1 {
		t.Errorf("%d scripts ran for the hand-over, want only the release", n)
	}
}

// scriptCalls is how many scripts of the protocol the server has executed.
func (r *rig) scriptCalls() int {
	r.t.Helper()
	return StatOf(r.t, r.client.Info(r.ctx, "commandstats").Val(), "cmdstat_evalsha:calls=")
}

func TestSession_receive_nonsense(t *testing.T) {
	r := newRig(t)
	s, _ := r.newSession(Config{})
	r.acquire("holder", "p", 0)
	done := r.wait(s, "w", time.Minute)
	for _, payload := range []string{"", "grant", "grant w", "grant w x y", "grant w 1", "grant w 1 1", "grant w -1 -1 1", "grant stranger 1 1 1", "lost", "lost w", "lost w x", "lost w 8", "lost w -1 x", "lost w 99 lock:{k} x", "poke", "poke stranger", "what w"} {
		r.push(s, payload)
	}
	r.push(s, "poke w")
	select {
	case a := <-done:
		t.Fatalf("a message that means nothing was taken for a grant: %+v", a)
	default:
	}
	r.release("holder", 0)
	if a := <-done; a.err != nil {
		t.Error(a.err)
	}
}

// A grant that crosses with the end of the wait goes on at once, not when its lease ends.
func TestSession_grantNobodyWaitsFor(t *testing.T) {
	r := newRig(t)
	s, _ := r.newSession(Config{})
	r.acquire("holder", "p", 0)
	ctx, cancel := context.WithCancel(r.ctx)
	gone := r.waitUntil(ctx, s, "w", time.Hour)
	next := r.wait(s, "next", time.Hour)
	cancel()
	if a := <-gone; a.err == nil {
		t.Fatal("the cancelled wait has no error")
	}
	r.release("holder", 0)
	if a := <-next; a.err != nil {
		t.Fatal(a.err)
	}
	r.wantOwner("next")
	r.wantQueue()
}

// Two processes die, one after the other in the queue, and with them what they would have been told: nobody is left who
// knows that the lease in the way is a short one. A process that waits finds that out when it shows that it lives.
func TestSession_showingLifeTellsOfAShorterLease(t *testing.T) {
	r := newRig(t)
	s, _ := r.newSession(Config{Liveness: 300 * time.Millisecond})
	r.acquire("holder", "p", 0)
	r.acquireFor("dead1", "dead1", 100*time.Millisecond)
	r.acquireFor("dead2", "dead2", 100*time.Millisecond)
	done := r.wait(s, "w", time.Minute)
	r.release("holder", 0)
	r.wantOwner("dead1")
	select {
	case a := <-done:
		if a.err != nil || a.grant.Epoch != r.wantOwner("w") {
			t.Errorf("granted %+v, want the owner's epoch", a)
		}
	case <-time.After(testsync.Patience): // the holder's lease would have ended long after that
		t.Error("nobody asks for a lock whose lease has ended")
	}
}
