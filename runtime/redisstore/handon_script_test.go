package redisstore

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// acquireFor is acquire with a ttl of its own.
func (r *rig) acquireFor(id, proc string, ttl time.Duration) {
	r.t.Helper()
	ms := ttl.Milliseconds()
	_, err := r.askFor(r.keys, id, ms, ms+rigRetention, rigLiveness, channelOf(proc)+" node "+proc, anyTime)
	r.called("acquire", err)
}

// Those behind the new owner have set their timers for the end of the old lease. If the new one ends sooner, the first
// of them is told: the new owner may be dead, and the lock must not stand free until the end of a lease that is no
// more.
func TestHandOn_toAShorterLeaseTellsTheNext(t *testing.T) {
	for name, end := range map[string]func(*rig){
		"release": func(r *rig) { r.want("release", r.release("a", 0), 1) },
		"cancel":  func(r *rig) { r.want("cancel", r.cancel("a"), 1) },
		"break":   func(r *rig) { r.want("break", r.brk("test", true), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			in := r.listen("q")
			r.acquire("a", "p", 0)
			r.acquireFor("short", "s", time.Second)
			r.acquire("next", "q", rigLiveness)
			r.acquire("last", "q", rigLiveness)
			end(r)
			r.wantOwner("short")
			in.wantNext("poke next")
			if a := r.acquire("next", "q", rigLiveness); a.granted || a.remaining > time.Second {
				t.Errorf("the answer to the poke is %+v, want the end of the short lease", a)
			}
			r.wantQueue("next", "last")
		})
	}
}

func TestHandOn_toALeaseAsLongTellsNobody(t *testing.T) {
	r := newRig(t)
	in := r.listen("q")
	r.acquire("a", "p", 0)
	r.acquire("b", "s", rigLiveness)
	r.acquire("next", "q", rigLiveness)
	r.want("release", r.release("a", 0), 1)
	r.wantOwner("b")
	if sent := in.drain(); len(sent) > 0 {
		t.Errorf("the process was sent %q", sent)
	}
}

// Scripts that work on many leases do to each what they would do to it alone.
func TestAcquireScript_manyLeasesAreAnsweredOneByOne(t *testing.T) {
	r := newRig(t)
	space := newKeySpace("lock")
	var keys []lockKeys
	args := []any{rigTTL, rigTTL + rigRetention, rigLiveness, channelOf("q") + " node q", anyTime}
	for i := range 12 {
		r.keys = space.keys(fmt.Sprint("key", i))
		if i%3 > 0 {
			r.acquire("holder", "p", 0)
		}
		if i%3 == 2 {
			r.acquire("first", "s", rigLiveness)
			r.expire(r.keys.lock)
		}
		keys, args = append(keys, r.keys), append(args, fmt.Sprint("id", i))
	}
	answers, err := acquireScript.Run(r.ctx, r.client, byKind(keys), args...).Slice()
	r.called("acquire", err)
	for i, reply := range answers {
		a, err := parseAnswer(reply, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		r.keys = space.keys(fmt.Sprint("key", i))
		owner, queue := []string{fmt.Sprint("id", i), "holder", "first"}[i%3], []string{}
		if i%3 > 0 {
			queue = []string{fmt.Sprint("id", i)}
		}
		if epoch := r.wantOwner(owner); a.granted != (i%3 == 0) || a.granted && a.epoch != epoch {
			t.Errorf("lease %d is told %+v, the owner is %s with epoch %d", i, a, owner, epoch)
		}
		r.wantQueue(queue...)
	}
}

func TestReleaseScript_manyLeasesAreReleasedOneByOne(t *testing.T) {
	r := newRig(t)
	space := newKeySpace("lock")
	var keys []lockKeys
	args := []any{rigRetention}
	for i := range 12 {
		r.keys = space.keys(fmt.Sprint("key", i))
		r.acquire([]string{"mine", "another's", "mine"}[i%3], "p", 0)
		if i%3 == 2 {
			r.acquire("waiter", "q", rigLiveness)
		}
		keys, args = append(keys, r.keys), append(args, "mine")
	}
	released, err := ints(releaseScript.Run(r.ctx, r.client, byKind(keys), args...), 12)
	r.called("release", err)
	if want := slices.Repeat([]int64{1, 0, 1}, 4); !slices.Equal(released, want) {
		t.Errorf("released %v, want %v", released, want)
	}
	for i := range 12 {
		r.keys = space.keys(fmt.Sprint("key", i))
		r.wantOwner([]string{"", "another's", "waiter"}[i%3])
		if queue := r.client.Exists(r.ctx, r.keys.queue).Val(); queue > 0 {
			t.Errorf("lock %d has a queue left", i)
		}
	}
}
