package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
)

// A waiter whose process has little of its life left is granted no more than that, and not nothing.
func TestHandOn_lastsNoLongerThanTheProcessIsKnownToLive(t *testing.T) {
	for _, test := range []struct{ liveness, ttl, least, most time.Duration }{
		{3 * time.Second, time.Hour, 2 * time.Second, 3 * time.Second},
		{3 * time.Second, 200 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond},
		{300 * time.Millisecond, time.Hour, 500 * time.Millisecond, 500 * time.Millisecond},
	} {
		r := newRig(t)
		in := r.listen("q")
		r.acquire("a", "p", 0)
		ms := test.ttl.Milliseconds()
		ask := func() answer {
			reply, err := r.askFor(r.keys, "w", ms, ms+rigRetention, test.liveness.Milliseconds(), channelOf("q")+" node q", anyTime)
			if err != nil {
				t.Fatal(err)
			}
			a, err := parseAnswer(reply, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		ask()
		r.release("a", 0)
		epoch := r.wantOwner("w")
		sent := in.drain()
		var at, given int64
		if _, err := fmt.Sscanf(sent[0], fmt.Sprint("grant w ", epoch, " %d %d"), &at, &given); err != nil {
			t.Fatalf("%q: %v", sent[0], err)
		}
		ttl := time.Duration(given) * time.Millisecond
		if ttl < test.least || ttl > test.most {
			t.Errorf("liveness %s, ttl %s: granted %s, want %s to %s", test.liveness, test.ttl, ttl, test.least, test.most)
		}
		if again := ask(); !again.granted || again.ttl != ttl || again.since != at {
			t.Errorf("the poke says %+v, the push %s since %d", again, ttl, at)
		}
		if test.ttl == time.Hour {
			r.want("renewal", r.renew("w", ms), 1)
			if left := r.pttl(r.keys.lock); left < test.ttl/2 {
				t.Errorf("renewed, it lasts %s", left)
			}
		}
	}
}

// Dead processes in the queue: those behind them wait for the time that it takes to notice a death, not for a lease of
// each.
func TestSession_deadWaitersBlockForABoundedTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		dead int
		ttl  time.Duration
	}{"many with short leases": {60, 2 * time.Second}, "one with a long lease": {1, time.Hour}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s, _ := r.newSession(Config{})
			r.acquire("holder", "p", 0)
			for i := range test.dead {
				id := fmt.Sprint("dead", i)
				ms := test.ttl.Milliseconds()
				if _, err := r.askFor(r.keys, id, ms, ms+rigRetention, 3000, channelOf("d")+" node d", anyTime); err != nil {
					t.Fatal(err)
				}
			}
			done := r.wait(s, "w", time.Hour)
			start := time.Now()
			r.release("holder", 0)
			if a := <-done; a.err != nil {
				t.Fatal(a.err)
			}
			// 3 s to notice, and a short lease. With a lease for each it would be two minutes, and an hour.
			if waited := time.Since(start); waited > time.Minute {
				t.Errorf("the living one waited for %s", waited)
			}
		})
	}
}

// PUBLISH is refused or lost: the process finds out that it owns the lock when it shows life.
func TestSession_learnsOfItsLeaseWithoutAPush(t *testing.T) {
	r := newRig(t)
	s, _ := r.newSession(Config{Liveness: 300 * time.Millisecond})
	r.acquire("holder", "p", 0)
	done := r.wait(s, "w", time.Hour)
	// The server grants it, and nothing is published.
	value := fmt.Sprint("w ", time.Now().UnixMicro(), " ", r.client.Time(r.ctx).Val().UnixMicro(), " 3600000 ", s.channel, " node")
	for _, err := range []error{
		r.client.ZRem(r.ctx, r.keys.queue, "w").Err(), r.client.HDel(r.ctx, r.keys.waiters, "w").Err(),
		r.client.Set(r.ctx, r.keys.lock, value, time.Hour).Err(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	select {
	case a := <-done:
		if a.err != nil {
			t.Error(a.err)
		}
	case <-time.After(testsync.Patience):
		t.Error("it was not told")
	}
}

// A user who may not publish releases all the same.
func TestScripts_publishIsRefused(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.acquire("b", "q", rigLiveness)
	r.acquire("c", "q", rigLiveness)
	if err := r.client.Do(r.ctx, "ACL", "SETUSER", "default", "resetchannels").Err(); err != nil {
		t.Fatal(err)
	}
	r.want("release", r.release("a", 0), 1)
	r.wantOwner("b")
	r.want("break", r.brk("test", false), 1)
	r.want("cancel", r.cancel("b"), 1)
	r.wantOwner("c")
}
